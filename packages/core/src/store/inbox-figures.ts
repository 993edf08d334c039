import type { InboxState } from "./stored-event.ts";

/** The exact counts of an inbox. */
export interface InboxStats {
  /** How many events are in each state. */
  readonly states: Readonly<Record<InboxState, number>>;
  /** How many are in each state, by type. The type is null if the body is not an envelope, or the id was handled inline. On BullMQ: empty. */
  readonly types: readonly {
    readonly state: InboxState;
    readonly type: string | null;
    readonly count: number;
  }[];
  /** The same as `oldestReadyMs` of `gauges()`. */
  readonly oldestReadyMs: number | null;
  /** How many deliveries had an id that the inbox knows, but another body. */
  readonly conflicts: number;
  /** When the last of the deliveries that the inbox still has was received; imports do not count. Null: it has none. */
  readonly lastReceivedAt: Date | null;
}

/** The counts of `gauges()`. */
export type GaugeCount = "ready" | "waiting" | "blocked" | "paused" | "leased" | "unhandled" | "dead";

/**
 * How many due events wait behind another event of their lane, by the reason why no worker can take that one:
 * - `failing`: it is due later, after a failed attempt or by `retryLater`
 * - `paused`: its type is paused
 * - `dead`: it is dead, and the inbox has the option `laneHeldByDead`
 */
export type BlockedBy = Readonly<Record<"failing" | "paused" | "dead", number>>;

/** The figures to alert on. Databases read them only from indexes: they cost the same with ten events and with a million. */
export interface InboxGauges {
  /**
   * - `ready`: due, and not blocked: a worker can take it now, or once the work ahead of it in its lane is done
   * - `blocked`: due, but behind another one of its lane that no worker may take now; see `blockedBy`. Counted in at most 1,000 lanes;
   *   where more are blocked, the others count as `ready`
   * - `waiting`: due later, such as after a failed attempt or by `retryLater`
   * - `paused`: ready, due or not, but its type is paused
   * - `leased`: a worker has them, or their lease has ended and no worker has taken events since. A worker has at most twice as many as slots:
   *   events that are being settled are included
   * - `unhandled` and `dead`: in these states
   */
  readonly counts: Readonly<Record<GaugeCount, number>>;
  /** Counts that reached the limit (10,001 on Postgres and SQLite); the real number may be higher. Empty if the engine has no limit. */
  readonly capped: readonly GaugeCount[];
  /** The blocked events by the reason. Their sum is `counts.blocked`, unless that is capped. */
  readonly blockedBy: BlockedBy;
  /**
   * For how long a worker could have taken the oldest due event, in ms: of a type that is not paused, and next in its lane. A wait behind others
   * of its lane does not count if it took more than a minute, nor does a pause. Null: there is none.
   */
  readonly oldestReadyMs: number | null;
  /**
   * When the last delivery was received; another one may have followed within 10 s. Imports do not count. Null: none since the inbox was created, or
   * since the migration that added this time.
   */
  readonly lastReceivedAt: Date | null;
}

/** A worker that shares the inbox. */
export interface WorkerPresence {
  /** Its host, process id and a random part, such as `web-1:4711:9f3c`. */
  readonly id: string;
  /** The name of its machine. */
  readonly host: string;
  /** Null for a `Worker` of BullMQ that the user has created, like `version` and `concurrency`. */
  readonly pid: number | null;
  /** The version of `@esim-webhooks/core` that it runs. */
  readonly version: string | null;
  /** When it began to run. */
  readonly startedAt: Date;
  /** How many handlers it can run at the same time. */
  readonly concurrency: number | null;
  /** How many of these slots are in use: by events, and by abandoned handlers that still run. Null on BullMQ, which does not know. */
  readonly running: number | null;
  /** When the inbox last answered its `take`; null before the first time, and on BullMQ. */
  readonly lastTakeAt: Date | null;
  /** When it last reported. Workers report every 10 s. */
  readonly seenAt: Date;
}
