/**
 * A verified, parsed delivery. Plain JSON, so it can cross a queue.
 * @template Type the event type, such as `"esim.faulted"`
 * @template Data the fields of this event type, which `EsimEvents` describes
 */
export interface WebhookEvent<Type extends string = string, Data = unknown> {
  /** The webhook-id: the same for every delivery of this event, unique within its source. Opaque. */
  readonly id: string;
  readonly type: Type;
  /** When the event occurred, as sent: a date-time (RFC 3339). */
  readonly timestamp: string;
  readonly data: Data;
  /** The fields of the envelope besides `type`, `timestamp` and `data`, as sent. Absent if there are none. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** The event of an envelope, with its unknown fields in `extra`. Nothing is checked. */
export function eventOf(id: string, envelope: Readonly<Record<string, unknown>>): WebhookEvent {
  const { type, timestamp, data, ...extra } = envelope;
  return { id, type, timestamp, data, ...(Object.keys(extra).length > 0 && { extra }) } as WebhookEvent;
}

/**
 * The type of an `UnknownEvent`. It stands for every text that the catalog does not have, so that comparing `event.type` with a
 * type of the catalog narrows the event. To compare it with another text, assign it to a `string` first.
 */
export declare enum UnknownType {
  any = "any type that the catalog does not have",
}

/** An event whose type the catalog does not have. Nothing is known of its data. */
export type UnknownEvent = WebhookEvent<UnknownType, Readonly<Record<string, unknown>>>;

/** Identifies an event: its id, within the source that received it. */
export interface EventKey {
  readonly source: string;
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

/** The data of every event type: event type → data. */
export type DataByType = Record<string, unknown>;

/** The discriminated union of the events in `Data`; `type` is the discriminant. */
export type EventOf<Data> = { [Type in keyof Data & string]: WebhookEvent<Type, Data[Type]> }[keyof Data &
  string];

/** The families an event type is in: `"esim.lifecycle.suspended"` is in `"esim.*"` and `"esim.lifecycle.*"`. */
export type FamilyOf<Type extends string> = Type extends `${infer Head}.${infer Rest}`
  ? `${Head}.*` | `${Head}.${FamilyOf<Rest>}`
  : never;
