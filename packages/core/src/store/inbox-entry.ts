import { WebhookError } from "../base/errors.ts";
import type { EventKey, WebhookEvent } from "../event/event.ts";

/** What is kept of an event that an import brought. Plain JSON. */
export interface Replay {
  /** The import: the same one when it was interrupted and went on. */
  readonly run: string;
  /**
   * Whether the body was made from a dump's JSON, so that its bytes are not those that were signed. Between such a body
   * and a signed one, other bytes are no conflict.
   */
  readonly rebuilt: boolean;
  /** What the dump says of the delivery besides the event: `status`, `sentAt`, `attemptNumber`, … (spec 2.5). */
  readonly delivery?: Readonly<Record<string, string | number | null>>;
}

/** An authentic delivery on its way into an inbox. */
export interface InboxEntry extends EventKey {
  /** Null when the body is no envelope. */
  readonly type: string | null;
  /** What the body says; null when it is no envelope, or not what its schema says. */
  readonly event: WebhookEvent | null;
  /** The raw bytes as signed; everything else can be read from them again. */
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  /** Where an import brought it. */
  readonly replay?: Replay;
}

/** The entry of a delivery, from what the catalog says of it. Unknown and invalid events are stored too. */
export function inboxEntry(
  { type, event }: Pick<InboxEntry, "type" | "event">,
  { source, id, body, receivedAt, replay }: Omit<InboxEntry, "type" | "event">,
): InboxEntry {
  return { source, id, type, event, body, receivedAt, ...(replay && { replay }) };
}

const longestKeyBytes = 2000; // a row of a database's index holds no more than some 2,700

/** For authors of inboxes. Throws `invalid_input` for an entry that some database could not keep. */
export function checkEntry({ source, id, receivedAt }: InboxEntry): void {
  const key = `${source}${id}`;
  const isStorable =
    !key.includes("\0") &&
    key.isWellFormed() &&
    Buffer.byteLength(key) <= longestKeyBytes &&
    Number.isFinite(receivedAt.getTime());
  if (isStorable) return;
  throw new WebhookError(
    "invalid_input",
    "An entry has an id or source with NUL, with half a character or of more than 2,000 bytes, or no valid receivedAt.",
    "Hand in entries as a receiver makes them.",
  );
}

// as far as both databases and JavaScript can tell the time
const firstMs = Date.parse("0001-01-01T00:00:00Z") - 86_400_000;
const lastMs = Date.parse("9999-12-31T00:00:00Z") + 2 * 86_400_000;

/**
 * For authors of inboxes: when the event occurred, in ms since the Unix epoch, with the microseconds that `Date.parse`
 * leaves out. When it came in, where the timestamp is none that can be told, such as a leap second. Null without an event.
 */
export function occurredAtMs({
  event,
  receivedAt,
}: Pick<InboxEntry, "receivedAt"> & { readonly event: Pick<WebhookEvent, "timestamp"> | null }):
  | number
  | null {
  if (event === null) return null;
  const ms = Date.parse(event.timestamp);
  if (!(ms > firstMs && ms < lastMs)) return receivedAt.getTime();
  const [, micros = ""] = /\.\d{3}(\d{1,3})/.exec(event.timestamp) ?? [];
  return ms + Number(micros.padEnd(3, "0")) / 1000;
}

/** For authors of inboxes. Throws `invalid_input` for an entry without a replay: nobody could tell whether its run had it before. */
export function checkRerun(entry: InboxEntry): void {
  checkEntry(entry);
  if (entry.replay !== undefined) return;
  throw new WebhookError(
    "invalid_input",
    "An entry that is to run again has no replay.",
    "Give it one, with the name of the run; put() is for what was delivered.",
  );
}
