import { dateTimeMs } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import type { EventKey, WebhookEvent } from "../event/event.ts";

/** The facts that an inbox stores about an imported event. Plain JSON. */
export interface Replay {
  /** The name of the import; it stays the same when an interrupted import continues. */
  readonly run: string;
  /**
   * Whether the body was rebuilt from a dump's JSON, so its bytes are not the signed ones. A rebuilt body and a signed one
   * may differ without a conflict.
   */
  readonly rebuilt: boolean;
  /** Other fields of the delivery record: `status`, `sentAt`, `attemptNumber` and so on. */
  readonly delivery?: Readonly<Record<string, string | number | null>>;
}

/** A delivery or an imported event, to store in an inbox. */
export interface InboxEntry extends EventKey {
  /** Null if the body is not an envelope. */
  readonly type: string | null;
  /** The parsed body; null if it is not an envelope, or does not match its schema. */
  readonly event: WebhookEvent | null;
  /** The raw bytes as signed, or rebuilt: see `Replay.rebuilt`. */
  readonly body: Uint8Array;
  /** When it was received. For an import: by its record, or else the time of the import. */
  readonly receivedAt: Date;
  /** Present if an import stores it. */
  readonly replay?: Replay;
  /** The fingerprint of the key that verified it. Absent for an import. */
  readonly key?: string;
  /** The `traceparent` of the span that stores it, at most 55 characters. Absent: there is none. */
  readonly trace?: string;
}

const longestKeyBytes = 2000; // an index entry of Postgres holds about 2,700 bytes

/** For authors of inboxes. Throws `invalid_input` for an entry that at least one of the databases cannot store. */
export function checkEntry({ source, id, receivedAt }: InboxEntry): void {
  const key = `${source}${id}`;
  const isStorable =
    !key.includes("\0") &&
    source.isWellFormed() &&
    id.isWellFormed() &&
    Buffer.byteLength(key) <= longestKeyBytes &&
    Number.isFinite(receivedAt.getTime());
  if (isStorable) return;
  throw new WebhookError(
    "invalid_input",
    "An entry cannot be stored: its id or source has a NUL or a lone surrogate, both together exceed 2,000 bytes, or its receivedAt is invalid.",
    "Pass entries as a receiver makes them.",
  );
}

// the years 1 to 9999 at any offset: all databases and JavaScript support these times
const firstMs = Date.parse("0001-01-01T00:00:00Z") - 86_400_000;
const lastMs = Date.parse("9999-12-31T00:00:00Z") + 2 * 86_400_000;

/**
 * For authors of inboxes: when the event occurred, in ms since the Unix epoch, including the microseconds that `Date.parse`
 * drops. Returns `receivedAt` if the timestamp is invalid, or in the year 0. Null without an event.
 */
export function occurredAtMs({
  event,
  receivedAt,
}: Pick<InboxEntry, "receivedAt"> & { readonly event: Pick<WebhookEvent, "timestamp"> | null }):
  | number
  | null {
  if (event === null) return null;
  const ms = dateTimeMs(event.timestamp);
  if (!(ms > firstMs && ms < lastMs)) return receivedAt.getTime();
  const [, micros = ""] = /\.\d{3}(\d{1,3})/.exec(event.timestamp) ?? [];
  return ms + Number(micros.padEnd(3, "0")) / 1000;
}

/** For authors of inboxes. Throws `invalid_input` as `checkEntry` does, and for an entry without a replay. */
export function checkRerun(entry: InboxEntry): void {
  checkEntry(entry);
  if (entry.replay !== undefined) return;
  throw new WebhookError(
    "invalid_input",
    "rerun() got an entry without a replay.",
    "Add a replay with the name of the run, or call put() for a delivery.",
  );
}
