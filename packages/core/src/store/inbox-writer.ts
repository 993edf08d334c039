import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxRole } from "./inbox-role.ts";

/**
 * The result for one entry. `already_stored`: the id was stored before, or done inline, and no other body is known.
 * `conflict`: it was stored or done before with another body, which is not replaced. `busy`: a receiver on the same tables handles
 * the id right now. Only `stored` has stored the entry.
 */
export type PutResult = "stored" | "already_stored" | "conflict" | "busy";

/**
 * The role of an inbox that accepts events. Receivers call only `put`, so an object `{ put }` around a producer of SQS,
 * Kafka or NATS is a target.
 */
export interface InboxWriter extends InboxRole {
  /**
   * Stores entries and answers one to one, in order. Bodies are compared only if both are as signed, or both `rebuilt`; otherwise a known id is
   * `already_stored`. An engine that does not know whether it had an id answers `stored`. Resolves once the entries are durable. Rejects if it
   * cannot store them, with `invalid_input` if a database could not store one of them: see `checkEntry`.
   */
  put(entries: readonly InboxEntry[]): Promise<readonly PutResult[]>;
}
