import type { EventKey } from "../event/event.ts";
import type { GivenUp, GiveUpOptions } from "./give-up.ts";
import type { HistoryStep } from "./history.ts";
import type { Replay } from "./inbox-entry.ts";
import type { InboxRole } from "./inbox-role.ts";
import type { Minute } from "./minute-counts.ts";
import type { Pause, PauseOptions } from "./pause.ts";
import type { RunNote } from "./run-note.ts";

/** The state of an event: see docs/state-machine.md. */
export type InboxState = "ready" | "leased" | "done" | "unhandled" | "dead";

/** Selects events. An omitted field selects all. */
export interface InboxFilter {
  /** In this state. */
  readonly state?: InboxState;
  /** Only events of one of these types. */
  readonly types?: readonly string[];
  /** Only events of this source. */
  readonly source?: string;
  /** With one of these ids. */
  readonly ids?: readonly string[];
  /** A prefix of their ids. */
  readonly idPrefix?: string;
  /** Received at this time or later. */
  readonly since?: Date;
  /** Received before this time. */
  readonly until?: Date;
  /** Case-sensitive text that `error` contains. */
  readonly error?: string;
  /** Done or unhandled, with a retention that has ended at this time. */
  readonly expiredBy?: Date;
  /** Ready, and due after this time. */
  readonly dueAfter?: Date;
  /** Only events with this `subject`, an eSIM reference. */
  readonly subject?: string;
}

/** Selects events to work again. `state` defaults to `"dead"`. */
export interface RedriveFilter extends Omit<InboxFilter, "state" | "expiredBy" | "dueAfter"> {
  /** Dead events, those that had no handler, or ready ones that are due later. */
  readonly state?: "dead" | "unhandled" | "ready";
}

/** An event in a list, without its body. */
export interface InboxRow extends EventKey {
  /** Where the event is. */
  readonly state: InboxState;
  /** Null: the body is not an envelope, or, from `get`, the id was handled inline. */
  readonly type: string | null;
  /** The events of one lane are worked one at a time, in order. Null: it has none. */
  readonly lane: string | null;
  /** The `esimReference` of the event. Null: it has none, or its body is not an envelope. */
  readonly subject: string | null;
  /** When it was received first. Null, from `get`: the id was handled inline. */
  readonly receivedAt: Date | null;
  /** How many attempts have begun. */
  readonly attempts: number;
  /** How many of them count towards `maxAttempts`: those since it was stored, redriven or run again that were not put off. */
  readonly tries: number;
  /** Ready: when it is due. Leased: since when it was due. Null in another state. On BullMQ: always null. */
  readonly dueAt: Date | null;
  /** Leased: when the lease ends. Null in another state. On BullMQ: always null. */
  readonly leasedUntil: Date | null;
  /** Done or unhandled: when its retention ends, and it may be forgotten. Null in another state. */
  readonly keptUntil: Date | null;
  /** When it became done, unhandled or dead. Null for ready and leased events. */
  readonly settledAt: Date | null;
  /** Why its last attempt failed. */
  readonly error: string | null;
  /** How many deliveries of the same id had another body. */
  readonly conflicts: number;
  /** The import that stored it or ran it again. Null: it came as a delivery. */
  readonly replay: Replay | null;
}

/** An event that others of its lane wait for. `dead` only with the option `laneHeldByDead`. */
export interface LaneHolder extends EventKey {
  /** The lane waits for: `ready`, a worker; `leased`, the end of its handler; `dead`, an operator. */
  readonly state: "ready" | "leased" | "dead";
}

/** An event with its body, and what is known about its attempts. */
export interface StoredEvent extends InboxRow {
  /**
   * The fingerprint of the key that verified it, such as `key:1a2b3c4d`. Null if an import stored it. Once the event
   * is done, Postgres removes `key` and `trace` with the body; SQLite keeps both.
   */
  readonly key: string | null;
  /** The `traceparent` of the request that stored it, if there is a trace source. */
  readonly trace: string | null;
  /**
   * The event that holds its lane while this one is ready: it must be settled first. Null: none does, or this event is itself the next of its
   * lane.
   */
  readonly heldBy: LaneHolder | null;
  /** When a worker first took it, since it was stored or run again. On BullMQ: when one last took it. */
  readonly takenAt: Date | null;
  /** When its personal data was erased. Null: it was not. */
  readonly erasedAt: Date | null;
  /** Its last ten failed attempts and steps of operators, oldest first. On BullMQ: its attempts alone. */
  readonly history: readonly HistoryStep[];
  /** The frames of what its last attempt threw, a line each. Null: nothing was thrown, or its stack is not known. */
  readonly stack: string | null;
  /** Null once the event is done, unless bodies are kept, or once its `bodyRetentionMs` has ended. */
  readonly body: Uint8Array | null;
}

/** A page of a list. */
export interface InboxPage {
  /** Newest received first, then by id and source. */
  readonly rows: readonly InboxRow[];
  /** Pass it as `cursor` to get the next page. Null: this is the last page. */
  readonly nextCursor: string | null;
  /**
   * A page searches at most 20,000 events, so it can have fewer rows than `limit` although more match. `searchedTo` is the receive time of
   * the last event searched; the next page can begin within the same millisecond. Null: the search reached the end. On BullMQ: always null.
   */
  readonly searchedTo: Date | null;
}

/** The exact counts of an inbox. */
export interface InboxStats {
  /** How many events are in each state. */
  readonly states: Readonly<Record<InboxState, number>>;
  /** By state and type. The type is null if the body is not an envelope, or the id was handled inline. */
  readonly types: readonly {
    readonly state: InboxState;
    readonly type: string | null;
    readonly count: number;
  }[];
  /** For how long the oldest due event that a worker could take has waited, in ms: of a type that is not paused, and next in its lane. Null: there is none. */
  readonly oldestReadyMs: number | null;
  /** How many deliveries had the id of a stored event but another body. */
  readonly conflicts: number;
  /** When the newest delivery was received, of the events that the inbox still has; imports do not count. Null: it has none. */
  readonly lastReceivedAt: Date | null;
}

/** The counts of `gauges()`. */
export type GaugeCount = "ready" | "waiting" | "blocked" | "paused" | "leased" | "unhandled" | "dead";

/**
 * How many due events wait behind another one of their lane, by why that one does not move:
 * - `failing`: it waits for its next attempt, or was put off with `retryLater`
 * - `paused`: its type is paused
 * - `dead`: it is dead, and the inbox has `laneHeldByDead`
 */
export type BlockedBy = Readonly<Record<"failing" | "paused" | "dead", number>>;

/** The figures to alert on, read from indexes alone: it costs the same with ten events and with a million. */
export interface InboxGauges {
  /**
   * - `ready`: due, and not blocked: a worker can take it now, or once the work ahead of it in its lane is done
   * - `blocked`: due, but behind another one of its lane that no worker may take now; see `blockedBy`. Counted in at most 1,000 lanes;
   *   where more are blocked, the others count as `ready`
   * - `waiting`: due later: a failed attempt, or `retryLater`
   * - `paused`: ready, due or not, but its type is paused
   * - `leased`: a worker has them, or its lease has just ended
   * - `unhandled` and `dead`: as the states
   */
  readonly counts: Readonly<Record<GaugeCount, number>>;
  /** Counts that reached the limit (10,001 on Postgres and SQLite); the real number may be higher. Empty if the engine has no limit. */
  readonly capped: readonly GaugeCount[];
  /** The blocked events by what holds their lanes. Together they are the count of `blocked`. */
  readonly blockedBy: BlockedBy;
  /**
   * For how long a worker could have taken the oldest due event, in ms: of a type that is not paused, and next in its lane. A wait behind others
   * of its lane does not count if it took more than a minute, nor does a pause. Null: there is none.
   */
  readonly oldestReadyMs: number | null;
  /**
   * When the last delivery was received; another one may have followed within 10 s. Imports do not count. Null: none since the inbox was created, or
   * updated by a migration.
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
  /** The version of the package that it runs. */
  readonly version: string | null;
  /** When it began to run. */
  readonly startedAt: Date;
  /** How many handlers it can run at the same time. */
  readonly concurrency: number | null;
  /** How many of these places are in use: by events, and by abandoned handlers that still run. Null on BullMQ, which does not know. */
  readonly running: number | null;
  /** When the inbox last answered its `take`; null before the first time, and on BullMQ. */
  readonly lastTakeAt: Date | null;
  /** When it last reported. Workers report every 10 s. */
  readonly seenAt: Date;
}

/** The role of an inbox for operators: inspect events, and redrive or delete dead ones. */
export interface InboxAdmin extends InboxRole {
  /** The exact counts. Reads the whole inbox: for alerts and dashboards, call `gauges`. */
  stats(): Promise<InboxStats>;

  /** Reads what to alert on, at the same cost for any number of events. */
  gauges(): Promise<InboxGauges>;

  /** The workers that have reported in the last 30 s, by id. An engine that knows less of them gives what it knows. */
  workers(): Promise<readonly WorkerPresence[]>;

  /** Notes an import or a pass that has ended. Keeps the last 50 of each kind. */
  noteRun(note: RunNote): Promise<void>;

  /** The notes of imports and passes, the last one first. */
  runs(): Promise<readonly RunNote[]>;

  /**
   * The minutes of the last day in which something happened, oldest first; the present one may be 10 s behind. Empty unless the option
   * `minuteCounts` is on.
   */
  minutes(): Promise<readonly Minute[]>;

  /** How many events match the filter. Stops counting at `most` (default: no limit). */
  count(filter?: InboxFilter, most?: number): Promise<number>;

  /**
   * Lists events, newest received first, then by id and source. `limit` defaults to 50. A page is bounded: see `searchedTo`. Rejects with
   * `invalid_input` for an invalid cursor.
   */
  list(
    filter?: InboxFilter,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<InboxPage>;

  /** The event with its body and history. Resolves to undefined if the inbox does not have the id. */
  get(key: EventKey): Promise<StoredEvent | undefined>;

  /**
   * Dead, unhandled, or ready and due later → ready and due now, with all of `maxAttempts` ahead again. A paused event stays paused, and one
   * in a lane waits for those before it. Changes at most `limit` events (default 1,000), oldest received first, but none whose body was
   * removed. `by` is who does it, for the history. Resolves to how many.
   */
  redrive(filter?: RedriveFilter, limit?: number, by?: string): Promise<number>;

  /**
   * Ready, due or not, paused or not → dead, with a reason. Leaves the events that a worker handles, and counts them. Changes at most `limit`
   * events (default 1,000), oldest received first. Rejects with `invalid_option` for an empty reason, and on BullMQ with `invalid_input`:
   * it cannot end a job that no worker has.
   */
  giveUp(
    filter: Omit<InboxFilter, "state" | "expiredBy" | "dueAfter">,
    options: GiveUpOptions,
    limit?: number,
  ): Promise<GivenUp>;

  /** Deletes at most `limit` dead events (default 1,000), oldest received first. Resolves to how many. */
  purgeDead(filter: Omit<InboxFilter, "state" | "expiredBy" | "dueAfter">, limit?: number): Promise<number>;

  /**
   * Stops workers from taking these types (default: all). It applies from their next poll, and ends at `until` or with `resume`. Receivers
   * continue storing events, no attempt is counted, and a paused event holds its lane. Pausing a type again replaces its pause. Rejects with
   * `unknown_event_type` for a type that the catalog does not have, and with `invalid_option` for an `until` in the past, an empty
   * reason, or types on an inbox that pauses only as a whole.
   */
  pause(options: PauseOptions): Promise<void>;

  /** Ends the pauses of these types, or all of them. Resolves to the pauses that it has ended. */
  resume(options?: { readonly types?: readonly string[] }): Promise<readonly Pause[]>;

  /** The pauses that have not ended, by type; one of all types comes first. */
  paused(): Promise<readonly Pause[]>;

  /**
   * Erases the personal data of at most `limit` events (default 1,000) with this subject, in any state: their body, error, history, lane,
   * trace, subject, and what an import noted of them. From then on they are done. Their id, type, times and fingerprint stay, so that a
   * redelivery is a duplicate, and no import runs them again, not even a forced one. The worker of a leased one loses its lease. Resolves to
   * how many there were in each state; once all are 0, none are left. `eraseSubject` calls it until then.
   */
  erase(subject: string, limit?: number): Promise<Readonly<Record<InboxState, number>>>;
}
