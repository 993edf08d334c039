import type { InboxEntry } from "./inbox-entry.ts";
import type { InboxRole } from "./inbox-role.ts";

/**
 * What became of an entry. `duplicate`: the same id and body were stored before, or the id was done elsewhere.
 * `conflict`: the same id was stored with another body, which stands.
 */
export type PutResult = "stored" | "duplicate" | "conflict";

/**
 * The role of an inbox that accepts events. Receivers call `put` alone: a few lines around the producer of SQS, Kafka or
 * NATS make a target, `{ put }`.
 */
export interface InboxWriter extends InboxRole {
  /**
   * Stores entries durably and answers one to one, in order. Other bytes are another body only if both are as signed, or
   * both `rebuilt`; else they are a duplicate. An engine that cannot tell answers `stored`. Resolves only once nothing can
   * be lost any more; rejects when it cannot store, with `invalid_input` where no store could keep an entry.
   */
  put(entries: readonly InboxEntry[]): Promise<readonly PutResult[]>;
}
