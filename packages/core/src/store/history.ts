import { maskPersonalData } from "../base/masking.ts";
import { fittedError } from "./error-text.ts";

/**
 * Why an attempt failed.
 * - `invalid`: its body does not match its schema, or is not an envelope
 * - `unhandled`: it has no handler, and its queue has no state for that (BullMQ)
 * - `failed`: its handler, or a schema of the catalog, threw
 * - `retry_later`: its handler asked for retries for longer than the worker's `maxWaitMs`
 * - `timed_out`: its handler did not end within its time limit
 * - `store_unavailable`: the inbox did not answer while it was handled
 * - `attempts`: its worker ended, or the inbox did not answer, at every attempt
 */
export type FailureReason =
  | "invalid"
  | "unhandled"
  | "failed"
  | "retry_later"
  | "timed_out"
  | "store_unavailable"
  | "attempts";

/** What a worker reports of a failed attempt. */
export interface AttemptReport {
  /** Why it failed. */
  readonly reason: FailureReason;
  /** From the take to the end of the attempt, in ms. */
  readonly durationMs: number;
  /** The name and message of what was thrown, and of its causes. */
  readonly error: string;
  /** The id of the worker. */
  readonly worker: string;
}

/** A failed attempt, in the history of an event. */
export interface FailedAttempt {
  /** Null for what BullMQ noted itself: a worker that ended. */
  readonly endedAt: Date | null;
  /** `lease_ended`: no worker settled it before its lease ended, perhaps since the worker's process ended. */
  readonly reason: FailureReason | "lease_ended";
  /** From the take to the end of the attempt, in ms. Null for `lease_ended`, and where `endedAt` is null. */
  readonly durationMs: number | null;
  /** The name and message of what was thrown, and of its causes, with secrets and personal data masked, 500 characters at most. */
  readonly error: string | null;
  /** The id of the worker, as in `workers()`. Null for `lease_ended`, and on BullMQ. */
  readonly worker: string | null;
}

/** How many attempts the history of an event holds: the last ones. */
const mostAttempts = 10;

const mostErrorCharacters = 500;
const mostMaskedCharacters = 4000; // masking 5 MB would block the event loop for most of a second
const mostEntryBytes = 780; // so that a history, with its times, stays below 8 KiB

/** For authors of inboxes: a failed attempt as JSON text without its time, which the inbox adds as `at`, in ms since the Unix epoch. */
export function encodeAttempt({ reason, durationMs, error, worker }: AttemptReport): string {
  const text = maskPersonalData(fittedError(error, mostMaskedCharacters)).replaceAll("\0", "\uFFFD");
  for (let length = mostErrorCharacters; ; length = Math.floor(length * 0.8)) {
    const shown = fittedError(text, length).toWellFormed();
    const json = JSON.stringify({ reason, ms: Math.round(durationMs), error: shown, worker });
    if (Buffer.byteLength(json) <= mostEntryBytes || length === 0) return json;
  }
}

/** For authors of inboxes: a lease that ended without a settlement, in the same form. */
export const leaseEnded = '{"reason":"lease_ended"}';

/** The history, as JSON text, with one more attempt. */
export function withAttempt(history: string | null, attempt: string, at: number): string {
  const earlier = history === null ? [] : (JSON.parse(history) as object[]);
  return JSON.stringify([...earlier, { at, ...JSON.parse(attempt) }].slice(-mostAttempts));
}

interface StoredAttempt {
  readonly at: number;
  readonly reason: FailedAttempt["reason"];
  readonly ms?: number;
  readonly error?: string;
  readonly worker?: string;
}

/** For authors of inboxes: the attempts of a stored history, oldest first. */
export function readHistory(history: string | null): readonly FailedAttempt[] {
  const stored = history === null ? [] : (JSON.parse(history) as readonly StoredAttempt[]);
  return stored.map(({ at, reason, ms = null, error = null, worker = null }) => ({
    endedAt: new Date(at),
    reason,
    durationMs: ms,
    error,
    worker,
  }));
}
