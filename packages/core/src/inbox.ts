import type { EventKey } from "./event.ts";

/** An authentic delivery on its way into an inbox. */
export interface InboxEntry extends EventKey {
  /** Null when the body is no envelope. */
  readonly type: string | null;
  /** The raw bytes as signed; everything else can be read from them again. */
  readonly body: Uint8Array;
  readonly receivedAt: Date;
}

/**
 * The part of an inbox that a receiver needs, and the seam to any other engine: a few lines around the
 * producer of SQS, Kafka or NATS make a target.
 */
export interface InboxWriter {
  /**
   * Stores entries durably and answers one to one, in order: `stored`, `duplicate` (the same id and body were
   * stored before) or `conflict` (the same id with another body: the stored one stands). An engine that cannot
   * tell answers `stored`. Resolves only once nothing can be lost any more; rejects when it cannot store.
   */
  put(entries: readonly InboxEntry[]): Promise<readonly PutResult[]>;
}

export type PutResult = "stored" | "duplicate" | "conflict";
