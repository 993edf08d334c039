import type { EventKey } from "../event/event.ts";
import type { Transacted } from "./dedupe-store.ts";
import type { InboxRole } from "./inbox-role.ts";

/** Which events to take. */
export interface TakeOptions {
  /** At most so many. */
  readonly limit: number;
  readonly leaseMs: number;
  /** Take these types alone. */
  readonly only?: readonly string[];
  /** Leave these types. */
  readonly except?: readonly string[];
}

/** One lease on one event; `token` is its fence. */
export interface InboxLease extends EventKey {
  readonly token: string;
}

/** An event that a worker has taken. */
export interface TakenEvent extends InboxLease {
  readonly body: Uint8Array;
  readonly receivedAt: Date;
  /** Which try this is, from 1: counted here, so that a worker which dies of it has counted too. */
  readonly attempt: number;
  /** Whether an import brought it: its entry had a `replay`. Handlers get it as `context.replayed`. */
  readonly replayed: boolean;
}

/** How a lease ends. */
export type Settlement = InboxLease &
  (
    | { readonly state: "done" }
    /** No handler takes it: its body is kept for the retention, so that it can be redriven once there is one. */
    | { readonly state: "unhandled" }
    /** To be tried again in `afterMs`, for the reason in `error`. */
    | { readonly state: "ready"; readonly afterMs: number; readonly error: string }
    /** Given back as if it had not been taken, as at a clean stop. */
    | { readonly state: "untouched" }
    /** Tried no more, until an operator says so. */
    | { readonly state: "dead"; readonly error: string }
  );

/**
 * The role of an inbox that workers call. A lease ends by itself, and its fence makes a late owner harmless.
 * `Tx` is the transaction that handlers get as `context.tx`, where the inbox is transactional.
 */
export interface InboxQueue<Tx = unknown> extends InboxRole {
  /** Ready and due → leased, the longest due first; leases that have ended are ready again. */
  take(options: TakeOptions): Promise<readonly TakenEvent[]>;

  /** Moves the ends of leases to `leaseMs` from now; one to one, false: that lease was lost. */
  extend(leases: readonly InboxLease[], leaseMs: number): Promise<readonly boolean[]>;

  /** Leased → what each settlement says; one to one, false: that lease was lost, and nothing changed. */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;

  /** As `DedupeStore.transact`: the writes of `work` commit together with leased → done. */
  transact?(lease: InboxLease, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;

  /** Calls `listener` when there may be work. Only a hint: it can be missed. Returns a function that unsubscribes. */
  onHint?(listener: () => void): () => void;

  /** Deletes done and unhandled events whose retention is over, `limit` at most, default 1,000. Resolves to how many. */
  purge(limit?: number): Promise<number>;
}
