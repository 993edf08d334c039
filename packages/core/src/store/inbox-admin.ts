import type { EventKey } from "../event/event.ts";
import type { GivenUp, GiveUpOptions } from "./give-up.ts";
import type { InboxGauges, InboxStats, WorkerPresence } from "./inbox-figures.ts";
import type { InboxRole } from "./inbox-role.ts";
import type { Minute } from "./minute-counts.ts";
import type { Pause, PauseOptions } from "./pause.ts";
import type { RunNote } from "./run-note.ts";
import type { InboxRow, InboxState, StoredEvent } from "./stored-event.ts";

/** Selects the events that meet all fields. An omitted field does not restrict them. */
export interface InboxFilter {
  /** Only events in this state. */
  readonly state?: InboxState;
  /** Only events of one of these types. */
  readonly types?: readonly string[];
  /** Only events of this source. */
  readonly source?: string;
  /** Only events with one of these ids. */
  readonly ids?: readonly string[];
  /** Only events whose id begins with this text. */
  readonly idPrefix?: string;
  /** Only events received at this time or later. */
  readonly since?: Date;
  /** Only events received before this time. */
  readonly until?: Date;
  /** Only events whose `error` contains this text, case-sensitively. */
  readonly error?: string;
  /** Only done and unhandled events whose retention ends at this time or earlier. */
  readonly expiredBy?: Date;
  /** Only ready events that are due after this time. */
  readonly dueAfter?: Date;
  /** Only events with this `subject`, by default an eSIM reference. */
  readonly subject?: string;
}

/** Selects events to handle again. `state` defaults to `"dead"`. */
export interface RedriveFilter extends Omit<InboxFilter, "state" | "expiredBy" | "dueAfter"> {
  /** `unhandled`: the events that had no handler. `ready`: those that are due later. */
  readonly state?: "dead" | "unhandled" | "ready";
}

/** A page of a list. */
export interface InboxPage {
  /** In the order of `list`. */
  readonly rows: readonly InboxRow[];
  /** Pass it as `cursor` to get the next page. Null: this is the last page. */
  readonly nextCursor: string | null;
  /**
   * When the last event that was searched was received: a page searches at most 20,000 events, so it can have fewer rows than `limit` although
   * more match. The next page can begin within the same millisecond. Null: the search reached the end. On BullMQ: always null.
   */
  readonly searchedTo: Date | null;
}

/** Inspects the events of an inbox. */
export interface InboxReads {
  /** The exact counts. Reads the whole inbox: for alerts and dashboards, call `gauges`. */
  stats(): Promise<InboxStats>;

  /** Reads the figures to alert on, in a database at the same cost for any number of events. */
  gauges(): Promise<InboxGauges>;

  /** Counts the events that match the filter. Stops at `most` (default: no limit). */
  count(filter?: InboxFilter, most?: number): Promise<number>;

  /**
   * Lists events, newest received first, then by id and source; on BullMQ by state first. `limit` defaults to 50. A page is bounded: see
   * `searchedTo`. Rejects with `invalid_input` for an invalid cursor.
   */
  list(
    filter?: InboxFilter,
    page?: { readonly limit?: number; readonly cursor?: string },
  ): Promise<InboxPage>;

  /** Resolves to an event with its body and history, or to undefined if the inbox does not have the id. */
  get(key: EventKey): Promise<StoredEvent | undefined>;
}

/** The notes of an inbox in addition to its events: its workers, the runs that filled it, and what happened in each minute. */
export interface InboxNotes {
  /** Resolves to the workers that have reported in the last 30 s, ordered by id. On BullMQ: those that are connected, with what it knows of them. */
  workers(): Promise<readonly WorkerPresence[]>;

  /** Notes an import, or a pass of reconcile, that has ended. Keeps the last 50 notes of each kind. */
  noteRun(note: RunNote): Promise<void>;

  /** The notes of imports and passes, the last one first. */
  runs(): Promise<readonly RunNote[]>;

  /**
   * Resolves to the minutes of the last day in which something happened, oldest first; counts may be 10 s late. Empty unless the option
   * `minuteCounts` is on.
   */
  minutes(): Promise<readonly Minute[]>;
}

/** Changes events for an operator. */
export interface InboxRepairs {
  /**
   * Dead, unhandled, or ready and due later → ready and due now, with the count towards `maxAttempts` at 0 again. A paused event stays paused,
   * and one in a lane waits for those before it. Changes at most `limit` events (default 1,000), oldest received first (on BullMQ: earliest
   * failed or due first), but none whose body was removed. `by` names the operator, for the history. Resolves to how many were changed.
   */
  redrive(filter?: RedriveFilter, limit?: number, by?: string): Promise<number>;

  /**
   * Ready, due or not, paused or not → dead, with a reason. Changes no leased event, but counts those that match. Changes at most `limit`
   * events (default 1,000), oldest received first. Rejects with `invalid_option` for an empty reason, and on BullMQ with `invalid_input`:
   * BullMQ cannot end a job that no worker has.
   */
  giveUp(
    filter: Omit<InboxFilter, "state" | "expiredBy" | "dueAfter">,
    options: GiveUpOptions,
    limit?: number,
  ): Promise<GivenUp>;

  /** Deletes at most `limit` dead events (default 1,000), oldest received first (on BullMQ: earliest failed). Resolves to how many. */
  purgeDead(filter: Omit<InboxFilter, "state" | "expiredBy" | "dueAfter">, limit?: number): Promise<number>;

  /**
   * Erases the personal data of at most `limit` events (default 1,000) with this subject, in any state: their body, error, history, lane,
   * trace, subject, and what an import noted of them. From then on they are done. Their id, type, times and fingerprint stay, so that a
   * redelivery is a duplicate, and no import runs them again, not even with `force`. The worker of a leased one loses its lease. Resolves to
   * how many were erased, by their state before; once all are 0, none are left. `eraseSubject` calls it until then.
   */
  erase(subject: string, limit?: number): Promise<Readonly<Record<InboxState, number>>>;
}

/** Stops workers from taking events of some types, or of all. */
export interface InboxPauses {
  /**
   * Stops workers from taking these types (default: all). The pause applies from the workers' next poll, and ends at `until` or with `resume`.
   * Receivers continue storing events, no attempt is counted, and a paused event holds its lane. Pausing a type again replaces its pause.
   * Rejects with `unknown_event_type` for a type that the catalog does not have, and with `invalid_option` for an `until` in the past, an empty
   * reason, or types on an inbox that pauses only as a whole.
   */
  pause(options: PauseOptions): Promise<void>;

  /** Ends the pauses of these types (default: all pauses). A pause of all types ends only by the default. Resolves to the ended pauses. */
  resume(options?: { readonly types?: readonly string[] }): Promise<readonly Pause[]>;

  /** Resolves to the pauses that have not ended, ordered by type; a pause of all types comes first. */
  paused(): Promise<readonly Pause[]>;
}

/** The role of an inbox for operators: inspect events, and redrive, end, delete, erase or pause them. */
export interface InboxAdmin extends InboxRole, InboxReads, InboxNotes, InboxRepairs, InboxPauses {}
