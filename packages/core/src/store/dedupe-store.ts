import type { Awaitable } from "../base/awaitable.ts";
import type { EventKey } from "../event/event.ts";
import type { Lifecycle } from "./lifecycle.ts";

/**
 * What a claim came to. `busy`: another owner holds the id for at most `retryAfterMs` more. `conflict` is there, and true,
 * when this claim and the one that holds the id, or completed it, were made with different fingerprints.
 */
export type Claim =
  | { readonly status: "claimed"; readonly token: string }
  | { readonly status: "busy"; readonly retryAfterMs: number; readonly conflict?: true }
  | { readonly status: "done"; readonly conflict?: true };

/**
 * What became of a transaction. `committed`: the id is done. `rolled_back`: nothing was written, since `work` said so
 * or the lease was lost. `unused`: `work` made no query by it, so there was none, and the id is still claimed.
 */
export type Transacted = "committed" | "rolled_back" | "unused";

/** What a store can be relied on for. Stated once, as data; `storeSuite` reads it too. */
export interface StoreCapabilities {
  /** What it has answered is still so after this process was killed. */
  readonly durable: boolean;
  /** Several processes may use it at the same time. */
  readonly multiProcess: boolean;
  /** It has `transact`: a handler's writes and the mark commit together. */
  readonly transactional: boolean;
  /** How long done ids are remembered, in ms. */
  readonly retentionMs: number;
}

/**
 * Remembers which ids are claimed or done, so that no event takes effect twice.
 *
 * An id is absent, claimed or done. A claim is a lease: it ends by itself after `leaseMs`, and the id is
 * absent again. A done id stays done for the store's retention. Each operation is one atomic transition,
 * and every claim has its own token, the fence: an owner whose lease was taken over changes nothing.
 * Time is the store's own (the database server's), never the client's.
 *
 * Operations may answer at once or by a promise; to throw at once counts as to reject. Every operation rejects with a
 * `WebhookError` of code `store_unavailable` (or `store_full`) when the store cannot answer; it never answers what it
 * does not know. It settles within a bounded time, whatever the server does.
 * `Tx` is the transaction that handlers get as `context.tx`, where the store is transactional.
 */
export interface DedupeStore<Tx = unknown> extends Lifecycle {
  readonly capabilities: StoreCapabilities;

  /**
   * Absent → claimed, with a new token; else says which of the two it is. Called before a handler runs.
   * `fingerprint` is the CRC-32 of the raw body as signed, an unsigned 32-bit number. It is kept with the claim and the
   * mark, so that the same id with another body shows. Left out where there are no such bytes: then there is no conflict.
   */
  claim(key: EventKey, leaseMs: number, fingerprint?: number): Awaitable<Claim>;

  /** Moves the end of a live claim to `leaseMs` from now. False: the claim is not this token's any more. */
  extend(key: EventKey, token: string, leaseMs: number): Awaitable<boolean>;

  /**
   * Claimed → done. False: the lease was lost to another owner or has ended, and nothing changed. True again for the
   * token that completed it, since an answer can get lost on its way and be asked for once more.
   */
  complete(key: EventKey, token: string): Awaitable<boolean>;

  /** Claimed → absent, so that the next delivery runs at once. False: as for `complete`. */
  release(key: EventKey, token: string): Awaitable<boolean>;

  /**
   * Runs `work` with a transaction of the store's database, and commits its writes together with the mark, or not
   * at all. `work` says whether to commit. When it rejects, or the store cannot answer, nothing is committed.
   */
  transact?(key: EventKey, token: string, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;
}

const dayMs = 24 * 60 * 60 * 1000;

/** How long done ids are remembered unless told otherwise: 30 days. */
export const defaultRetentionMs: number = 30 * dayMs;

/** Retries reach back a day and replays 7 days (spec 6.5), and both take a while: below 8 days, duplicates run. */
export const shortestSafeRetentionMs: number = 8 * dayMs;
