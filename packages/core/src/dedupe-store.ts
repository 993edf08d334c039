import type { EventKey } from "./event.ts";

/** What a claim came to. `busy`: another owner holds the id for at most `retryAfterMs` more. */
export type Claim =
  | { readonly status: "claimed"; readonly token: string }
  | { readonly status: "busy"; readonly retryAfterMs: number }
  | { readonly status: "done" };

/**
 * Remembers which ids are claimed or done, so that no event takes effect twice.
 *
 * An id is absent, claimed or done. A claim is a lease: it ends by itself after `leaseMs`, and the id is
 * absent again. A done id stays done for the store's retention. Each operation is one atomic transition,
 * and every claim has its own token, the fence: an owner whose lease was taken over changes nothing.
 * Time is the store's own (the database server's), never the client's.
 *
 * Every operation rejects with a `WebhookError` of code `store_unavailable` (or `store_full`) when the store
 * cannot answer; it never answers what it does not know.
 */
export interface DedupeStore {
  /** Absent → claimed, with a new token; else says which of the two it is. Called before a handler runs. */
  claim(key: EventKey, leaseMs: number): Promise<Claim>;

  /** Moves the end of a live claim to `leaseMs` from now. False: the claim is not this token's any more. */
  extend(key: EventKey, token: string, leaseMs: number): Promise<boolean>;

  /** Claimed → done. False: the lease was lost to another owner or has ended, and nothing changed. */
  complete(key: EventKey, token: string): Promise<boolean>;

  /** Claimed → absent, so that the next delivery runs at once. False: as for `complete`. */
  release(key: EventKey, token: string): Promise<boolean>;

  /** Frees what the store opened itself. Safe to call twice. */
  close(): Promise<void>;
}

const dayMs = 24 * 60 * 60 * 1000;

/** How long done ids are remembered unless told otherwise: 30 days. */
export const defaultRetentionMs: number = 30 * dayMs;

/** Retries reach back a day and replays 7 days (spec 6.5), and both take a while: below 8 days, duplicates run. */
export const shortestSafeRetentionMs: number = 8 * dayMs;
