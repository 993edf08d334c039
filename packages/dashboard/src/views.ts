import type { GaugeCount, InboxState } from "@esim-webhooks/core";

// The data of the views, as the calls answer with it.

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
  /** Keys that verified the newest events, or those of the key store. Null: no key is known. */
  readonly keys: readonly KeyView[] | null;
  /** A minute each, oldest first. Null: the option `minuteCounts` of the inbox is off, or nothing was counted yet. */
  readonly minutes: readonly MinuteView[] | null;
}

export interface Cause {
  /** The error, with `#` in place of ids and numbers. */
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
  /** Why a ready event waits, or what is known of the worker of a leased one, in one sentence. Null in other states. */
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
  /** The operator who made the step. Null: a worker made it. */
  readonly by: string | null;
  /** How many attempts there were before this step. Null: the step itself is an attempt. */
  readonly attempts: number | null;
}

/**
 * A body. `json`: its text, to be parsed with the source text of numbers. `text`: not JSON. `none`: there is no body, or it cannot be
 * shown masked; `why` is the reason.
 */
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
  /** The URL without its query. */
  readonly url: string;
  readonly isActive: boolean;
  readonly subscribed: readonly string[];
  /** The subscribed types that no handler takes. Null: the handlers are not known. */
  readonly unhandled: readonly string[] | null;
  /** The catalog's types that a handler takes, but that are not subscribed. Null: the handlers are not known. */
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
