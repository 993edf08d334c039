/**
 * A verified, parsed delivery. Plain JSON, so it can cross a queue.
 * @template Type the event type, such as `"esim.faulted"`
 * @template Data the fields of this event type, which `EsimEvents` describes
 */
export interface WebhookEvent<Type extends string = string, Data = unknown> {
  /**
   * The webhook-id, opaque: the same at every attempt of a delivery, and unique within its source. The event has another id at another
   * endpoint, and may have a new one after a replay.
   */
  readonly id: string;
  /** The kind of event, such as `"esim.faulted"`. */
  readonly type: Type;
  /** When the event occurred, as sent: a date-time (RFC 3339). */
  readonly timestamp: string;
  /** The fields of this event type. */
  readonly data: Data;
  /** The fields of the envelope besides `type`, `timestamp` and `data`, as sent. Absent if there are none. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** Makes the event of an envelope, whose unknown fields become `extra`. Checks nothing. */
export function eventOf(id: string, envelope: Readonly<Record<string, unknown>>): WebhookEvent {
  const { type, timestamp, data, ...extra } = envelope;
  return { id, type, timestamp, data, ...(Object.keys(extra).length > 0 && { extra }) } as WebhookEvent;
}

/**
 * The type of an `UnknownEvent`. It stands for every text that the catalog does not have, so that comparing `event.type` with a
 * type of the catalog narrows the event. To compare it with another text, assign it to a `string` first.
 */
export declare enum UnknownType {
  /** Has no value at run time: it is only a type. */
  any = "any type that the catalog does not have",
}

/** An event whose type the catalog does not have. Nothing is known of its data. */
export type UnknownEvent = WebhookEvent<UnknownType, Readonly<Record<string, unknown>>>;

/** Identifies an event: its id, within the source that received it. */
export interface EventKey {
  /** The name of the endpoint that received the event, such as `"default"`. */
  readonly source: string;
  /** The webhook-id, opaque and unique within its source. */
  readonly id: string;
}

/** A key as one text, unique: the length keeps ("a", "bc") and ("ab", "c") apart. */
export function keyText({ source, id }: EventKey): string {
  return `${source.length}:${source}${id}`;
}

/** The source in a text that `keyText` made. */
export function sourceIn(text: string): string {
  const begin = text.indexOf(":") + 1;
  return text.slice(begin, begin + Number.parseInt(text, 10));
}

/** Whether every store can hold this id: 1 to 1,024 bytes in UTF-8, without a NUL and without half of a surrogate pair. */
export function isStorableId(id: string): boolean {
  return id !== "" && Buffer.byteLength(id) <= 1024 && id.isWellFormed() && !id.includes("\0");
}

const longestSource = 255; // every store can hold it together with the longest id

/** The form of a source, for messages. */
export const sourceForm: string = `1 to ${longestSource} characters, without a NUL or half of a surrogate pair`;

/** Whether every store can hold this source. */
export function isStorableSource(source: unknown): source is string {
  if (typeof source !== "string" || source.length < 1 || source.length > longestSource) return false;
  return source.isWellFormed() && !source.includes("\0");
}

/** Matches an id that every HTTP client sends, and every terminal shows, unchanged. */
export const idPattern: RegExp = /^[!-~]{1,1024}$/;

const shownCharacters = 64;

/** Returns an id of any form as a log line shows it: cut if no store can hold it, and with control characters escaped. */
export function shownId(id: string): string {
  if (idPattern.test(id)) return id;
  const whole = isStorableId(id) ? id : `${id.slice(0, shownCharacters)}… (${id.length} characters)`;
  return whole.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (one) => `\\u{${one.codePointAt(0)?.toString(16)}}`);
}

/** The data of every event type: event type → data. */
export type DataByType = Record<string, unknown>;

/** The discriminated union of the events in `Data`; `type` is the discriminant. */
export type EventOf<Data> = { [Type in keyof Data & string]: WebhookEvent<Type, Data[Type]> }[keyof Data &
  string];

/** The families an event type is in: `"esim.lifecycle.suspended"` is in `"esim.*"` and `"esim.lifecycle.*"`. */
export type FamilyOf<Type extends string> = Type extends `${infer Head}.${infer Rest}`
  ? `${Head}.*` | `${Head}.${FamilyOf<Rest>}`
  : never;
