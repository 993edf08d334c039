import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxRole } from "./inbox-role.ts";

/**
 * The result for one entry. `already_stored`: the same id and body were stored before, or the id was done inline.
 * `conflict`: the id was stored before with another body, which is kept. `busy`: a receiver on the same tables handles the id right
 * now, and nothing was stored.
 */
export type PutResult = "stored" | "already_stored" | "conflict" | "busy";

/**
 * The role of an inbox that accepts events. Receivers call only `put`, so an object `{ put }` around a producer of SQS,
 * Kafka or NATS is a target.
 */
export interface InboxWriter extends InboxRole {
  /**
   * Stores entries and answers one to one, in order. Bodies are compared only if both are as signed, or both `rebuilt`; otherwise the entry is a
   * duplicate. An engine that does not know whether it had an entry answers `stored`. Resolves once the entries are durable. Rejects if it
   * cannot store them, with `invalid_input` for an entry that no store could keep.
   */
  put(entries: readonly InboxEntry[]): Promise<readonly PutResult[]>;
}
