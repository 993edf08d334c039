import { type AttemptReport, encodeAttempt, type FailureReason } from "./history.ts";

/**
 * How the lease on an event is to end. If it was lost, nothing changes. An `error` says why, and may have the frames of a stack after its
 * message: `readErrorText` of `@esim-webhooks/core/engine` splits them. A `report` is added to the history of the event.
 */
export type StoredEnding =
  /** Only an import with `force` runs it again. */
  | { readonly state: "done" }
  /** It has no handler, so no attempt is counted. Its body is kept for the retention, so that it can be redriven. */
  | { readonly state: "unhandled" }
  /** An attempt failed: the event is due again in `afterMs`. */
  | {
      readonly state: "retry";
      readonly afterMs: number;
      readonly error: string;
      readonly report?: AttemptReport;
    }
  /** Its handler is not ready for it yet: due again in `afterMs`, without counting a try. The first such ending starts `waitedMs`. */
  | { readonly state: "waiting"; readonly afterMs: number; readonly error: string }
  /**
   * The event is given back as it was taken. No try is counted, and an attempt only if its handler was `started`; a suspect stays a
   * suspect. It is due again in `afterMs`, by default immediately.
   */
  | {
      readonly state: "given_back";
      readonly afterMs?: number;
      readonly error?: string;
      readonly started?: boolean;
    }
  /** Not tried again until an operator redrives it. */
  | { readonly state: "dead"; readonly error: string; readonly report?: AttemptReport };

/** Why an attempt has failed, or why the event is dead. */
export interface Failure {
  /** The kind of the failure. */
  readonly reason: FailureReason;
  /** The thrown value, if the handler or a schema threw. */
  readonly thrown?: unknown;
  /** The text for the log, if `error` quotes values of the event. */
  readonly cause?: string;
}

/** How a lease or a claim on an event ends, in one word for its row, its message, its log line and its metric. */
export type Ending =
  | Exclude<StoredEnding, { state: "retry" | "dead" }>
  | (Extract<StoredEnding, { state: "retry" | "dead" }> & Failure)
  /** The lease or claim was lost before the result was stored, so the result is discarded. `thrown`: the value that the handler or a schema threw. */
  | { readonly state: "lost"; readonly thrown?: unknown }
  /** The store could not store the result, so the lease or claim ends by itself. `thrown`: the value that the handler or a schema threw. */
  | { readonly state: "store_unavailable"; readonly error: unknown; readonly thrown?: unknown };

/** The change that an ending makes in the row of its event. */
export interface RowChange {
  /** The new state. */
  readonly state: "done" | "unhandled" | "ready" | "dead";
  /** Added to the number of attempts. −1 takes back the attempt that `take` counted: no handler was started. */
  readonly attempts: 0 | -1;
  /** Added to the number of tries: −1 if this try does not count towards `maxAttempts`. */
  readonly tries: 0 | -1;
  /** Whether a suspect stays a suspect. No other row becomes one. */
  readonly staysSuspect: boolean;
  /** How `waitedMs` changes. `begins`: it begins now, unless it has begun. */
  readonly waiting: "begins" | "stays" | "ends";
  /** The time until the event is due again, in ms, if it is `ready`. At most 100 years: no engine stores every time. */
  readonly afterMs: number;
  /** Why the event is not done. Null: no error. */
  readonly error: string | null;
  /** The failed attempt to add to the history, as JSON. Null: none. */
  readonly attempt: string | null;
}

const plain = {
  attempts: 0,
  tries: 0,
  staysSuspect: false,
  waiting: "ends",
  afterMs: 0,
  error: null,
  attempt: null,
} as const;

const changes: Readonly<Record<StoredEnding["state"], RowChange>> = {
  done: { ...plain, state: "done" },
  unhandled: { ...plain, state: "unhandled", attempts: -1 },
  retry: { ...plain, state: "ready", waiting: "stays" },
  waiting: { ...plain, state: "ready", tries: -1, waiting: "begins" },
  given_back: { ...plain, state: "ready", attempts: -1, tries: -1, staysSuspect: true, waiting: "stays" },
  dead: { ...plain, state: "dead" },
};

const longestMs = 100 * 365 * 24 * 3_600_000;

/** For authors of inboxes: returns the change that an ending makes in the row of its event. */
export function rowChange(ending: StoredEnding): RowChange {
  const change = changes[ending.state];
  if (ending.state === "done" || ending.state === "unhandled") return change;
  const {
    afterMs = 0,
    error = null,
    report,
    started,
  } = { afterMs: 0, report: undefined, started: false, ...ending };
  return {
    ...change,
    attempts: started ? 0 : change.attempts,
    afterMs: Math.min(afterMs, longestMs),
    error,
    attempt: report === undefined ? null : encodeAttempt(report),
  };
}
