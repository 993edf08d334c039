import type { Awaitable } from "../base/awaitable.ts";
import type { EventKey } from "../event/event.ts";
import type { Lifecycle } from "./lifecycle.ts";

/**
 * The result of a claim. `busy`: another owner has claimed the id, or an inbox has its event; claim it again after `retryAfterMs`.
 * `conflict` is true when that claim or event, or the one that is done, had another fingerprint; otherwise it is absent. `inInbox`: an inbox
 * on the same tables has the event. `waiting`: a worker handles it, or will; `dead`, `unhandled`: an operator must redrive it.
 */
export type Claim =
  | { readonly status: "claimed"; readonly token: string }
  | {
      readonly status: "busy";
      readonly retryAfterMs: number;
      readonly conflict?: true;
      readonly inInbox?: "waiting" | "dead" | "unhandled";
    }
  | { readonly status: "done"; readonly conflict?: true };

/**
 * The result of a transaction. `committed`: the id is done. `rolled_back`: nothing was written, because `work` resolved to
 * false or the lease was lost. `unused`: `work` made no query, on SQLite no write, so the id is not marked done.
 */
export type Transacted = "committed" | "rolled_back" | "unused";

/** The guarantees of a store. `storeSuite` reads them too. */
export interface StoreCapabilities {
  /**
   * Whether what it has stored survives a killed process, a crash of the store's machine, and a lack of memory. A store that has to ask its
   * server knows this once `ready()` or an operation has succeeded, and says true until then.
   */
  readonly durable: boolean;
  /** Whether several processes may use it at the same time. */
  readonly multiProcess: boolean;
  /** Whether it has `transact`: a handler's writes and the done mark commit together. */
  readonly transactional: boolean;
  /** How long done ids are remembered at least, in ms. A store that is not durable may forget some earlier. */
  readonly retentionMs: number;
}

/**
 * Remembers which ids are claimed or done, so that no delivery takes effect twice.
 *
 * An id is absent, claimed or done. A claim is a lease: unless it is extended, it ends by itself after `leaseMs`, and the id
 * is absent again. A done id stays done for the store's retention. Each operation is one atomic transition.
 * Every claim has its own token, the fence: the token of an earlier claim of the id changes nothing.
 * Time is the store's own, such as the database server's: no operation gets a time from its caller.
 *
 * Operations may return a value or a promise, and may throw or reject. When the store cannot answer, they fail with a
 * `WebhookError` of code `store_unavailable` (or `store_full`); they never guess. They settle within a bounded time,
 * whether or not the server answers. In a transactional store, `Tx` is the transaction that handlers get as `context.tx`.
 */
export interface DedupeStore<Tx = unknown> extends Lifecycle {
  /** The guarantees of this store. */
  readonly capabilities: StoreCapabilities;

  /**
   * Absent → claimed, with a new token; otherwise answers `busy` or `done`. Called before a handler runs.
   * `fingerprint` is the CRC-32 of the raw body as signed, an unsigned 32-bit number. The store keeps it with the claim and
   * the done mark, to detect the same id with another body. Omitted if those bytes are not at hand: then nothing conflicts.
   */
  claim(key: EventKey, leaseMs: number, fingerprint?: number): Awaitable<Claim>;

  /** Moves the end of a live claim to `leaseMs` from now. False: this token has no live claim. */
  extend(key: EventKey, token: string, leaseMs: number): Awaitable<boolean>;

  /**
   * Claimed → done. False: the lease has ended or another owner has the claim, and nothing changed. True again for the
   * token that completed it: the caller repeats the call when an answer was lost.
   */
  complete(key: EventKey, token: string): Awaitable<boolean>;

  /** Claimed → absent, so that the next delivery runs immediately. False as for `complete`. */
  release(key: EventKey, token: string): Awaitable<boolean>;

  /**
   * Runs `work` with a transaction of the store's database, and commits its writes together with the done mark, or not
   * at all. `work` resolves to whether to commit. If `work` rejects, nothing is committed. If the commit gets no answer, both
   * may be committed, and `transact` rejects.
   */
  transact?(key: EventKey, token: string, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;
}
