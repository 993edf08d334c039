import type { EventKey } from "../event/event.ts";
import type { Transacted } from "./dedupe-store.ts";
import type { StoredEnding } from "./ending.ts";
import type { InboxRole } from "./inbox-role.ts";

/** The choice of events to take. */
export interface TakeOptions {
  /** How many events at most. */
  readonly limit: number;
  /** How long each lease lasts, in ms by the inbox's time. */
  readonly leaseMs: number;
  /** Take only these types. */
  readonly only?: readonly string[];
  /** Take all but these types. */
  readonly except?: readonly string[];
  /**
   * Take only suspects: events whose last lease ended without a settlement, perhaps because their handler ended the process. A
   * worker handles each of them alone. Default false: take none of them.
   */
  readonly suspects?: boolean;
}

/** A lease on an event. */
export interface InboxLease extends EventKey {
  /** The fence: each lease of the same event has another one. */
  readonly token: string;
}

/** An event that a worker has taken. */
export interface TakenEvent extends InboxLease {
  /** Null if the body is not an envelope. */
  readonly type: string | null;
  /** The raw bytes as signed, or rebuilt: see `Replay.rebuilt`. */
  readonly body: Uint8Array;
  /** When it was received first. */
  readonly receivedAt: Date;
  /** The number of this attempt, from 1. It is never reset. It is counted when the event is taken, so an attempt that kills its worker counts too. */
  readonly attempt: number;
  /** How many of its attempts count towards `maxAttempts`, this one included: those since it was stored, redriven or run again that were not put off. */
  readonly tries: number;
  /**
   * For how long its handlers have put it off, in ms by the inbox's time: since the first settlement `waiting` after it was
   * stored, redriven or run again. 0 without one.
   */
  readonly waitedMs: number;
  /** Whether an import stored it: its entry had a `replay`. Handlers get it as `context.replayed`. */
  readonly replayed: boolean;
  /** For how long it was due before this take, in ms by the inbox's time. */
  readonly waitMs: number;
  /** The `trace` of its entry. */
  readonly trace: string | null;
}

/** A lease, and how it is to end. */
export type Settlement = InboxLease & StoredEnding;

/** The report of a worker on itself, every 10 s. */
export interface WorkerReport {
  /** Its host, process id and a random part; at most 100 characters, like `host`. */
  readonly id: string;
  /** The name of its machine. */
  readonly host: string;
  /** The id of its process. */
  readonly pid: number;
  /** The version of the package that it runs. */
  readonly version: string;
  /** How many handlers it can run at the same time. */
  readonly concurrency: number;
  /** How many of these slots are in use: by events, and by abandoned handlers that still run. */
  readonly running: number;
  /** How long ago it started, in ms. */
  readonly startedMsAgo: number;
  /** How long ago the inbox last answered its `take`, in ms; null before the first time. */
  readonly sinceLastTakeMs: number | null;
}

/**
 * The role of an inbox for workers. A lease ends by itself, and its fence makes a late owner harmless.
 * In a transactional inbox, `Tx` is the transaction that handlers get as `context.tx`.
 */
export interface InboxQueue<Tx = unknown> extends InboxRole {
  /** Ready and due → leased, usually the longest due first. An event whose lease has ended is ready again, as a suspect. */
  take(options: TakeOptions): Promise<readonly TakenEvent[]>;

  /** Moves the end of each lease to `leaseMs` from now. Answers one to one; false: that lease was lost. */
  extend(leases: readonly InboxLease[], leaseMs: number): Promise<readonly boolean[]>;

  /**
   * Leased → the state of each settlement. Answers one to one; false: that lease was lost, and nothing changed. Each call adds another random
   * time to the retention (`spreadRetention` of `@esim-webhooks/core/engine`), so that few retentions end together.
   */
  settle(settlements: readonly Settlement[]): Promise<readonly boolean[]>;

  /** Like `DedupeStore.transact`: the writes of `work` commit together with leased → done. */
  transact?(lease: InboxLease, work: (tx: Tx) => Promise<boolean>): Promise<Transacted>;

  /**
   * Notes that the worker is alive: `workers()` lists it until it has not reported for 30 s. Absent if the engine sees its workers by
   * itself.
   */
  report?(worker: WorkerReport): Promise<void>;

  /** Calls `listener` when there may be work. Only a hint: it can be missed. Returns a function that unsubscribes. */
  onHint?(listener: () => void): () => void;

  /**
   * Deletes done and unhandled events whose retention has ended, and removes the bodies of unhandled and dead events after `bodyRetentionMs`:
   * at most `limit` events together (default 1,000). Resolves to how many.
   */
  purge(limit?: number): Promise<number>;
}
