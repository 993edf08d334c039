import { WebhookError } from "../base/errors.ts";
import type { WebhookEvent } from "../event/event.ts";
import { checkEntry, type InboxEntry, type Replay } from "./inbox-entry.ts";

/** An entry as plain JSON, for queues that carry JSON. */
export interface EncodedEntry {
  readonly source: string;
  readonly id: string;
  readonly type: string | null;
  readonly event: WebhookEvent | null;
  /** The raw bytes, in base64. */
  readonly body: string;
  /** A date-time in UTC. */
  readonly receivedAt: string;
  readonly replay?: Replay;
}

/** An entry as a value that `JSON.stringify` can write; `decodeEntry` reads it, every byte of its body included. */
export function encodeEntry(entry: InboxEntry): EncodedEntry {
  const { source, id, type, event, body, receivedAt, replay } = entry;
  return {
    source,
    id,
    type,
    event,
    body: Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString("base64"),
    receivedAt: receivedAt.toISOString(),
    ...(replay && { replay }),
  };
}

/** The entry that `encodeEntry` was given. Throws `invalid_input` for a value that it has not made. */
export function decodeEntry(json: unknown): InboxEntry {
  const { source, id, type, event, body, receivedAt, replay } = fieldsOf(json, "The value");
  const entry: InboxEntry = {
    source: isText(source) ? source : refuse("source", "a string"),
    id: isText(id) ? id : refuse("id", "a string"),
    type: isText(type) || type === null ? type : refuse("type", "a string or null"),
    event: event === null ? null : readEvent(event),
    body: readBody(body),
    receivedAt: readTime(receivedAt),
    ...(replay !== undefined && { replay: readReplay(replay) }),
  };
  checkEntry(entry);
  return entry;
}

function readEvent(given: unknown): WebhookEvent {
  const { id, type, timestamp, data } = fieldsOf(given, "Its event");
  if (isText(id) && isText(type) && isText(timestamp)) return { id, type, timestamp, data };
  return refuse("event", "null, or an object with id, type, timestamp and data");
}

function readBody(given: unknown): Uint8Array {
  const body = Buffer.from(isText(given) ? given : "", "base64");
  return body.toString("base64") === given ? body : refuse("body", "base64"); // Buffer.from takes anything
}

function readTime(given: unknown): Date {
  const time = new Date(isText(given) ? given : Number.NaN);
  const isExact = Number.isFinite(time.getTime()) && time.toISOString() === given;
  return isExact ? time : refuse("receivedAt", "a date-time in UTC, to the millisecond");
}

function readReplay(given: unknown): Replay {
  const { run, rebuilt, delivery } = fieldsOf(given, "Its replay");
  if (!isText(run) || typeof rebuilt !== "boolean") refuse("replay", "an object with run and rebuilt");
  if (delivery === undefined) return { run, rebuilt };
  const facts = Object.values(fieldsOf(delivery, "Its replay.delivery"));
  if (facts.every((fact) => fact === null || isText(fact) || typeof fact === "number"))
    return { run, rebuilt, delivery: delivery as NonNullable<Replay["delivery"]> };
  return refuse("replay.delivery", "strings, numbers and null by name");
}

function isText(given: unknown): given is string {
  return typeof given === "string";
}

function fieldsOf(given: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof given === "object" && given !== null && !Array.isArray(given))
    return given as Readonly<Record<string, unknown>>;
  throw invalid(`${what} is not an object, so it is no encoded entry.`);
}

function refuse(field: string, expected: string): never {
  throw invalid(`An encoded entry has a wrong ${field}: expected ${expected}.`);
}

function invalid(problem: string): WebhookError {
  return new WebhookError("invalid_input", problem, "Pass on what encodeEntry returned, unchanged.");
}
