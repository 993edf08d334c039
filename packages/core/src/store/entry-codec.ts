import { WebhookError } from "../base/errors.ts";
import { checkEntry, type InboxEntry, type Replay } from "./inbox-entry.ts";

/** An entry as plain JSON, for queues that carry JSON. It has the body, not the event: JSON that is nested deeply can be parsed, but not written again. */
export interface EncodedEntry {
  /** The name of the endpoint that received it. */
  readonly source: string;
  /** The webhook-id. */
  readonly id: string;
  /** Null if the body is not an envelope. */
  readonly type: string | null;
  /** The raw body, in base64. */
  readonly body: string;
  /** An ISO 8601 time in UTC, such as `2026-01-31T12:00:00.000Z`. */
  readonly receivedAt: string;
  /** Present for an entry of an import. */
  readonly replay?: Replay;
  /** The fingerprint of the key that verified it. Absent for an import. */
  readonly key?: string;
  /** The `traceparent` of the span that stored or queued the entry. Absent if there was none. */
  readonly trace?: string;
}

/**
 * Encodes an entry as plain JSON. `decodeEntry` restores it, with every byte of its body and without its event. Throws `invalid_input`
 * for an entry that `decodeEntry` would refuse.
 */
export function encodeEntry(entry: InboxEntry): EncodedEntry {
  checkEntry(entry);
  const { source, id, type, body, receivedAt, replay, key, trace } = entry;
  return {
    source,
    id,
    type,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
    receivedAt: receivedAt.toISOString(),
    ...(replay && { replay }),
    ...(key !== undefined && { key }),
    ...(trace !== undefined && { trace }),
  };
}

/** Restores an entry that `encodeEntry` encoded. Its event is null: parse the body with a catalog. Throws `invalid_input` for anything else. */
export function decodeEntry(json: unknown): InboxEntry {
  const { source, id, type, body, receivedAt, replay, key, trace } = fieldsOf(json, "The value");
  const entry: InboxEntry = {
    source: isText(source) ? source : refuse("source", "a string"),
    id: isText(id) ? id : refuse("id", "a string"),
    type: isText(type) || type === null ? type : refuse("type", "a string or null"),
    event: null,
    body: readBody(body),
    receivedAt: readTime(receivedAt),
    ...(replay !== undefined && { replay: readReplay(replay) }),
    ...(key !== undefined && { key: isText(key) ? key : refuse("key", "a string") }),
    ...(trace !== undefined && { trace: isText(trace) ? trace : refuse("trace", "a string") }),
  };
  checkEntry(entry);
  return entry;
}

function readBody(value: unknown): Uint8Array {
  const body = Buffer.from(isText(value) ? value : "", "base64");
  return body.toString("base64") === value ? body : refuse("body", "base64"); // Buffer.from accepts invalid base64
}

function readTime(value: unknown): Date {
  const time = new Date(isText(value) ? value : Number.NaN);
  const isExact = Number.isFinite(time.getTime()) && time.toISOString() === value;
  return isExact ? time : refuse("receivedAt", "an ISO 8601 time in UTC, with milliseconds");
}

function readReplay(value: unknown): Replay {
  const { run, rebuilt, delivery } = fieldsOf(value, "Its replay");
  if (!isText(run) || typeof rebuilt !== "boolean") refuse("replay", "an object with run and rebuilt");
  if (delivery === undefined) return { run, rebuilt };
  const facts = Object.values(fieldsOf(delivery, "Its replay.delivery"));
  if (facts.every((fact) => fact === null || isText(fact) || typeof fact === "number"))
    return { run, rebuilt, delivery: delivery as NonNullable<Replay["delivery"]> };
  return refuse("replay.delivery", "an object of strings, numbers and nulls");
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function fieldsOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Readonly<Record<string, unknown>>;
  throw invalidEntry(`${what} is not an object, so it is not an encoded entry.`);
}

function refuse(field: string, expected: string): never {
  throw invalidEntry(`An encoded entry has a wrong ${field}: expected ${expected}.`);
}

function invalidEntry(problem: string): WebhookError {
  return new WebhookError("invalid_input", problem, "Pass the value that encodeEntry returned, unchanged.");
}
