import { maskPersonalData } from "../base/masking.ts";
import { fittedError } from "./error-text.ts";

/**
 * Why an attempt to handle an event failed, or why the event is dead.
 * - `invalid`: the event's body does not match its schema, or is not an envelope
 * - `unhandled`: the event has no handler, and its queue has no state for that (BullMQ)
 * - `failed`: the handler, or a schema of the catalog, threw
 * - `retry_later`: the handler asked for another retry after `maxWaitMs` had passed
 * - `timed_out`: the handler did not end within its time limit
 * - `store_unavailable`: the inbox did not answer while the event was handled
 * - `attempts`: the event was due again with no attempt left, for example because the worker of the last one ended. On BullMQ: BullMQ
 *   itself ended the event
 */
export type FailureReason =
  | "invalid"
  | "unhandled"
  | "failed"
  | "retry_later"
  | "timed_out"
  | "store_unavailable"
  | "attempts";

/** The report of a worker on a failed attempt. */
export interface AttemptReport {
  /** Why it failed. */
  readonly reason: FailureReason;
  /** From the take to the end of the attempt, in ms. */
  readonly durationMs: number;
  /** The name and message of the thrown value, and of its causes, or a text if nothing was thrown. */
  readonly error: string;
  /** The id of the worker. */
  readonly worker: string;
}

/** A step in the history of an event: a failed attempt, or what an operator did. */
export interface HistoryStep {
  /** When the attempt ended, or the operator acted. Null for a step that BullMQ itself noted: a worker that ended. */
  readonly endedAt: Date | null;
  /**
   * `lease_ended`: no worker settled it before its lease ended, perhaps because the worker's process ended. `retried` and `given_up`: an
   * operator did it, by `redrive` or `giveUp`.
   */
  readonly reason: FailureReason | "lease_ended" | OperatorStep;
  /** From the take to the end of the attempt, in ms. Null for `lease_ended` and an operator's step, and where `endedAt` is null. */
  readonly durationMs: number | null;
  /**
   * Why the attempt failed: the `error` of its report, with secrets and personal data masked, 500 characters at most. For `given_up`: the
   * operator's reason. Null: none is known.
   */
  readonly error: string | null;
  /** The id of the worker, as in `workers()`. Null for `lease_ended` and an operator's step, and on BullMQ. */
  readonly worker: string | null;
  /** The operator. Null: no name was given, or it is an attempt. */
  readonly by: string | null;
  /** How many attempts had begun before an operator's step. Null for an attempt. */
  readonly attempts: number | null;
}

/** A step of an operator. `retried`: the event was made due now. `given_up`: it was made dead. */
export type OperatorStep = "retried" | "given_up";

/** The most steps that a history has. Earlier ones are dropped. */
const mostSteps = 10;

const mostErrorCharacters = 500;
const mostNameCharacters = 80;
const mostMaskedCharacters = 4000; // masking 5 MB would block the event loop for most of a second
const mostEntryBytes = 780; // so that a history, with its times, stays below 8 KiB

/** For authors of inboxes: a failed attempt as JSON text without its time, which the inbox adds as `at`, in ms since the Unix epoch. */
export function encodeAttempt({ reason, durationMs, error, worker }: AttemptReport): string {
  return fitted(error, (shown) => ({ reason, ms: Math.round(durationMs), error: shown, worker }));
}

/**
 * For authors of inboxes: returns a step of an operator as JSON text. The inbox adds its time as `at`, in ms since the Unix epoch, and the
 * number of attempts before it as `attempts`.
 */
export function encodeStep(reason: OperatorStep, by: string | null, error: string | null = null): string {
  const name = by?.slice(0, mostNameCharacters).replaceAll("\0", "\uFFFD").toWellFormed();
  return fitted(error ?? "", (shown) => ({ reason, by: name, ...(error !== null && { error: shown }) }));
}

/** The step as JSON text, with as much of its error as fits. */
function fitted(error: string, step: (shown: string) => object): string {
  const text = maskPersonalData(fittedError(error, mostMaskedCharacters)).replaceAll("\0", "\uFFFD");
  for (let length = mostErrorCharacters; ; length = Math.floor(length * 0.8)) {
    const json = JSON.stringify(step(fittedError(text, length).toWellFormed()));
    if (Buffer.byteLength(json) <= mostEntryBytes || length === 0) return json;
  }
}

/** For authors of inboxes: the step of a lease that ended without a settlement, in the form of `encodeAttempt`. */
export const leaseEnded = '{"reason":"lease_ended"}';

/** Returns a history, as JSON text, with one more step, and only the last ten steps. */
export function withAttempt(history: string | null, attempt: string, at: number): string {
  const earlier = history === null ? [] : (JSON.parse(history) as object[]);
  return JSON.stringify([...earlier, { at, ...JSON.parse(attempt) }].slice(-mostSteps));
}

interface StoredStep {
  readonly at: number;
  readonly reason: HistoryStep["reason"];
  readonly ms?: number;
  readonly error?: string;
  readonly worker?: string;
  readonly by?: string | null;
  readonly attempts?: number;
}

/** For authors of inboxes: the steps of a stored history, oldest first. */
export function readHistory(history: string | null): readonly HistoryStep[] {
  const stored = history === null ? [] : (JSON.parse(history) as readonly StoredStep[]);
  return stored.map(({ at, reason, ms = null, error = null, worker = null, by = null, attempts = null }) => ({
    endedAt: new Date(at),
    reason,
    durationMs: ms,
    error,
    worker,
    by,
    attempts,
  }));
}
