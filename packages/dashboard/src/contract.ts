import type { GaugeCount, InboxState } from "@esim-webhooks/core";

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
   * For operators, like all that follow. A round: at most `most` events, at most 10,000. In the state `ready`, those that are due later are due
   * now.
   */
  retry: Call<RoundOf, Retried>;
  /** Ends ready events as dead. Those that a worker handles are left. */
  giveUp: Call<RoundOf & { reason: string }, GaveUp>;
  /** Deletes dead events. */
  discard: Call<RoundOf, Round>;
  /**
   * `forMs`: how long; without it until it is resumed. `type` null: all. `replaces` is `since` of the pause that the operator has seen and
   * wants to replace. Any other pause of the type is kept: `already_paused`.
   */
  pause: Call<{ type: string | null; reason: string; forMs?: number; replaces?: string }, Empty>;
  resume: Call<{ type: string | null }, Changed>;
  /** How many events `erase` would erase, up to 10,001 of each state. Null: it counts them only while it erases them. */
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
  /** Only the ready events that are due later. */
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

export interface EventName {
  readonly source: string;
  readonly id: string;
}

export interface Gauges {
  readonly at: string;
  readonly counts: Readonly<Record<GaugeCount, number>>;
  /** Counts that stopped at their limit: the real numbers may be higher. */
  readonly capped: readonly GaugeCount[];
  readonly oldestDueMs: number | null;
  readonly lastDeliveryAt: string | null;
}

export interface Now {
  readonly lastPass: RunView | null;
  readonly pauses: readonly PauseView[];
  readonly workers: readonly WorkerView[];
  /** The causes of the newest dead events (`searched` of them, at most 1,000). */
  readonly deadCauses: readonly Cause[];
  readonly deadSearched: number;
  /** Keys that verified the newest events, or those of the key store. Null: not known, since no `keys` were given and no event has one. */
  readonly keys: readonly KeyView[] | null;
  /** A minute each, oldest first. Null: the option `minuteCounts` of the inbox is off, or nothing was counted yet. */
  readonly minutes: readonly MinuteView[] | null;
}

export interface Cause {
  /** With `#` in place of ids and numbers. */
  readonly error: string;
  readonly count: number;
  readonly types: readonly (string | null)[];
  /** When the first of them was received. */
  readonly oldestAt: string | null;
  /** When the last of them died. */
  readonly newestAt: string | null;
  /** How many of them died in the last hour, and in the hour before. */
  readonly lastHour: number;
  readonly hourBefore: number;
}

export interface KeyView {
  /** Its fingerprint, such as `key:1a2b3c4d`. */
  readonly key: string;
  readonly validUntil: string | null;
  readonly lastUsedAt: string | null;
}

export interface MinuteView {
  readonly at: string;
  readonly stored: number;
  readonly done: number;
  readonly retried: number;
  readonly dead: number;
}

export interface PauseView {
  readonly type: string | null;
  readonly reason: string;
  readonly since: string;
  readonly until: string | null;
  readonly by: string | null;
}

export interface WorkerView {
  readonly id: string;
  readonly host: string;
  readonly pid: number | null;
  readonly version: string | null;
  readonly startedAt: string;
  readonly concurrency: number | null;
  readonly running: number | null;
  readonly lastTakeAt: string | null;
  readonly seenAt: string;
}

export interface EventRow extends EventName {
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  /** Its eSIM. */
  readonly subject: string | null;
  readonly receivedAt: string | null;
  readonly attempts: number;
  readonly dueAt: string | null;
  readonly leasedUntil: string | null;
  readonly keptUntil: string | null;
  /** When it became done, unhandled or dead. */
  readonly settledAt: string | null;
  readonly error: string | null;
  readonly conflicts: number;
  /** Why no worker can take it although it is ready: its type is paused, or another event holds its lane. */
  readonly heldBack: "paused" | "blocked" | null;
  /** The import or pass that stored it. */
  readonly run: string | null;
}

export interface EventPage {
  readonly rows: readonly EventRow[];
  readonly nextCursor: string | null;
  readonly searchedTo: string | null;
}

/** Exact up to 10,000. */
export interface Counted {
  readonly count: number;
  /** There are more, or may be: see `searchedTo`. */
  readonly isMore: boolean;
  /**
   * No index finds what the filter says, so only events received at this time or later were counted. Null: all were. What can be retried or
   * deleted is always found by an index.
   */
  readonly searchedTo: string | null;
}

export interface EventView extends EventRow {
  /** The cause of its error, for `Filter.cause`. */
  readonly cause: string | null;
  readonly key: string | null;
  readonly trace: string | null;
  readonly takenAt: string | null;
  readonly erasedAt: string | null;
  readonly history: readonly AttemptView[];
  readonly stack: string | null;
  readonly payload: Payload;
  /** Why it waits, in one sentence. Null: it does not wait. */
  readonly waits: string | null;
  /** The event that holds its lane. */
  readonly heldBy: EventName | null;
  /** The events of the same eSIM received before and after it. */
  readonly before: EventName | null;
  readonly after: EventName | null;
}

export interface AttemptView {
  readonly endedAt: string | null;
  readonly reason: string;
  readonly durationMs: number | null;
  readonly error: string | null;
  readonly worker: string | null;
  /** The operator, of a step that is none of a worker. */
  readonly by: string | null;
  /** How many attempts there were before that step. Null: it is an attempt. */
  readonly attempts: number | null;
}

/** A body. `json`: its text, to be parsed with the source text of numbers. `text`: not JSON. `none`: there is none, and why; or it cannot be shown masked. */
export type Payload =
  | { readonly kind: "json" | "text"; readonly text: string; readonly isMasked: boolean }
  | { readonly kind: "none"; readonly why: string; readonly isMasked?: true };

export interface TypesView {
  /** The pause of all types. */
  readonly allPaused: PauseView | null;
  readonly types: readonly {
    readonly type: string;
    readonly pause: PauseView | null;
    /** How its events differ from the catalog, a sentence each. */
    readonly drift: readonly string[];
  }[];
}

export interface TypeCounts {
  readonly counts: readonly {
    readonly type: string | null;
    readonly count: number;
    /** When the newest of them was received. */
    readonly lastAt: string | null;
  }[];
  readonly nextCursor: string | null;
}

export interface RunView {
  readonly kind: "import" | "reconcile";
  readonly run: string;
  readonly source: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly outcome: string;
  readonly ledger: Readonly<Record<string, number>>;
}

export interface EndpointsView {
  /** When the partner API has answered. */
  readonly readAt: string;
  readonly endpoints: readonly EndpointView[];
}

export interface EndpointView {
  readonly reference: string;
  /** Without a query. */
  readonly url: string;
  readonly isActive: boolean;
  readonly subscribed: readonly string[];
  /** Subscribed, but no handler has them. Null: the handlers are not known. */
  readonly unhandled: readonly string[] | null;
  /** Handled, but not subscribed. */
  readonly notSubscribed: readonly string[] | null;
  /** How many of the newest deliveries were compared with the inbox. */
  readonly compared: number;
  /** How many of these the inbox does not have although the service will not send them again, and the newest of them. */
  readonly missedCount: number;
  readonly missed: readonly DeliveryView[];
  /** The newest deliveries. */
  readonly deliveries: readonly DeliveryView[];
}

/** A field is null if the service has not sent it. */
export interface DeliveryView {
  readonly id: string | null;
  readonly type: string | null;
  /** Null: not sent yet. */
  readonly at: string | null;
  readonly attempt: number | null;
  readonly httpStatus: number | null;
  readonly status: string | null;
  /** Its event in the inbox. Null: the inbox does not have it. */
  readonly event: EventName | null;
}

/** `done` of the number that was confirmed: the rest was changed by another operator, or by a worker. */
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
  /** Where the next round begins. Null: nothing that matches is left, or the engine has no such place. */
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
