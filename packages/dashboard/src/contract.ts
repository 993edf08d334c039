import type { InboxState } from "@esim-webhooks/core";
import type {
  EndpointsView,
  EventName,
  EventPage,
  EventView,
  Gauges,
  Now,
  Payload,
  RunView,
  TypeCounts,
  TypesView,
} from "./views.ts";

/**
 * The calls between the page and its server. Each call is `POST api/<name>` with JSON in and out, reads included: filters name
 * eSIMs, and the access log of a proxy has paths and queries. Times are ISO 8601 texts.
 */
export interface Calls {
  session: Call<Empty, Session>;
  /** The counts that every view shows: a small call, which is made every few seconds. */
  gauges: Call<Empty, Gauges>;
  now: Call<Empty, Now>;
  list: Call<{ filter: Filter; cursor?: string }, EventPage>;
  count: Call<{ filter: Filter }, Counted>;
  event: Call<EventName, EventView>;
  types: Call<Empty, TypesView>;
  /** Counts the events of a state by type, page by page, the newest first. */
  typeCounts: Call<{ state: InboxState; cursor?: string }, TypeCounts>;
  runs: Call<Empty, readonly RunView[]>;
  /** From answers of the partner API that are at most 30 s old; `refresh` asks it again. */
  endpoints: Call<{ refresh?: true }, EndpointsView>;
  /** The results of events that were retried: an answer for each id. At most 500 ids. */
  progress: Call<RetriedEvents, readonly Outcome[]>;
  /** For operators. The payload without masks; it is logged who asked for it. */
  reveal: Call<EventName, Payload>;
  /**
   * For operators, like all that follow. Retries a round: at most `most` events, and never more than 10,000. In the state `ready`, events
   * that are due later become due now.
   */
  retry: Call<RoundOf, Retried>;
  /** Ends ready events as dead. Those that a worker handles are left. */
  giveUp: Call<RoundOf & { reason: string }, GaveUp>;
  /** Deletes dead events. */
  discard: Call<RoundOf, Round>;
  /**
   * `forMs`: how long; without it, until an operator resumes the type. `type` null: all. `replaces` is `since` of the pause that the
   * operator has seen and wants to replace. Any other pause of the type is kept: `already_paused`.
   */
  pause: Call<{ type: string | null; reason: string; forMs?: number; replaces?: string }, Empty>;
  resume: Call<{ type: string | null }, Changed>;
  /** How many events `erase` would erase, up to 10,001 of each state. Null: the engine counts them only while it erases them. */
  erasable: Call<{ subject: string }, Erased["events"] | null>;
  /** Erases the personal data of all events of an eSIM. */
  erase: Call<{ subject: string }, Erased>;
}

export type CallName = keyof Calls;

interface Call<In, Out> {
  readonly in: In;
  readonly out: Out;
}

export type Empty = Record<never, never>;

export interface Failure {
  /** A stable code, such as `not_an_operator` or `inbox_unavailable`. */
  readonly code: string;
  /** The problem, and its remedy. */
  readonly message: string;
}

export interface Session {
  readonly name: string;
  readonly role: "viewer" | "operator";
  /** The name of the environment, such as `production`. */
  readonly title: string | null;
  /** A CSS hex colour, such as `#b42318`, for the title. */
  readonly color: string | null;
  /** Event types of the catalog. */
  readonly types: readonly string[];
  /** Filters that the engine does not have, each with the reason in one sentence. */
  readonly missingFilters: Readonly<Partial<Record<keyof Filter, string>>>;
  /** Null: types can be paused one by one. Else the reason why only all can be. */
  readonly pausesOnlyAll: string | null;
  /** Whether events that wait can be ended as dead. */
  readonly givesUp: boolean;
  /** Whether an action can continue after its first 10,000 events. */
  readonly continues: boolean;
  readonly hasEndpoints: boolean;
  readonly version: string;
}

export interface Filter {
  readonly state?: InboxState;
  /** Only the ready events that are due later. On BullMQ, only counts use it. */
  readonly dueLater?: true;
  readonly types?: readonly string[];
  readonly source?: string;
  readonly subject?: string;
  /** Whole ids, of one source: for an action on chosen events. At most 50. */
  readonly ids?: readonly string[];
  readonly idPrefix?: string;
  /** Text of the error. For operators: it is searched in errors that viewers see masked. */
  readonly error?: string;
  /** A `Cause.error`: events whose error is of this cause. */
  readonly cause?: string;
  readonly since?: string;
  readonly until?: string;
}

/** A number of events: at most 10,000, and exact unless `isMore`. */
export interface Counted {
  readonly count: number;
  /** Whether there are more, or may be since the search ended early: see `searchedTo`. */
  readonly isMore: boolean;
  /**
   * No index finds what the filter says, so only events received at this time or later were counted. Null: no such limit. What can be
   * retried or deleted is always found by an index.
   */
  readonly searchedTo: string | null;
}

/**
 * `done`: how many of the confirmed events were changed. Another operator or a worker has changed the rest, or their bodies were
 * removed.
 */
export interface Changed {
  readonly done: number;
}

interface RoundOf {
  readonly filter: Filter;
  readonly most: number;
  /** `nextCursor` of the round before. */
  readonly cursor?: string;
}

export interface Round extends Changed {
  /** Where the next round begins. Null: nothing that matches is left, or the session's `continues` is false. */
  readonly nextCursor: string | null;
}

export interface GaveUp extends Round {
  /** How many a worker has taken since they were chosen. */
  readonly leased: number;
}

export interface RetriedEvents {
  readonly source: string;
  readonly ids: readonly string[];
}

export interface Retried extends Round {
  /**
   * The events, for `progress`. They are as many as `done`, unless another operator or a worker changed some of them at the same time: then
   * these are among them, too.
   */
  readonly events: readonly RetriedEvents[];
}

/** The state of a retried event. `failed`: ready, after an attempt that has failed again. `gone`: the inbox does not have it any more. */
export type Outcome = InboxState | "failed" | "gone";

export interface Erased {
  readonly events: Readonly<Record<InboxState, number>>;
  readonly notReached: readonly string[];
}
