import { randomUUID } from "node:crypto";
import { ApiError, type ApiErrorCode } from "@esim-webhooks/client";
import type { KeyRecord, Logger } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import type { WaitingClock } from "../base/waiting-clock.ts";

/** A call that takes effect once. Its idempotency key is in the key store before the call is made. */
export interface IdempotentCall {
  readonly idempotencyKey: string;
  /** When the idempotency key was made: a date-time of our own clock. */
  readonly keyedAt: string;
}

/** For how long the service surely returns the same answer, in ms: it keeps an answer for 48 hours. */
const idempotencyKeyLifetimeMs = 47 * 60 * 60_000;

export function freshIdempotencyKey(nowMs: number): IdempotentCall {
  return { idempotencyKey: randomUUID(), keyedAt: new Date(nowMs).toISOString() };
}

/** Whether the service may have forgotten the idempotency key, and would do the same call once more. */
export function isForgotten({ keyedAt }: IdempotentCall, nowMs: number): boolean {
  return dateTimeMs(keyedAt) < nowMs - idempotencyKeyLifetimeMs;
}

/** The longest time for a call that answers with a new secret, with all its attempts, in ms. The client's own limit may be longer. */
export const callMs: number = 2 * 60_000;
/** For how long storing a new secret is tried, in ms. */
export const storeSecretMs: number = 4 * 60_000;
/** For how long receivers hold off, from the beginning of a step on, in ms. They accept at most 15 minutes. */
const holdOffMs = 10 * 60_000;
/** How much of the hold-off a step needs, in ms: the secret is stored at least a minute before the hold-off ends. */
const neededMs = callMs + storeSecretMs + 60_000;
/** How long an attempt of the service to deliver may be under way, in ms. */
const arrivalMs = 60_000;

/**
 * Returns the time until which receivers answer 503 to unknown signatures, for a step that begins now: the service may use the step's new
 * secret before it is stored.
 */
export function holdOffUntil(nowMs: number): string {
  return new Date(nowMs + holdOffMs).toISOString();
}

/** Returns the update of the key record for a step whose secret is not a key yet: the keys stay as they are, and a hold-off begins now. */
export function holdingOff(nowMs: number): (now: KeyRecord) => Pick<KeyRecord, "keys" | "rotatingUntil"> {
  return ({ keys }) => ({ keys, rotatingUntil: holdOffUntil(nowMs) });
}

/** Whether receivers hold off unknown signatures for as long as a step needs. */
export function isHeldOff({ rotatingUntil }: KeyRecord, nowMs: number): boolean {
  return dateTimeMs(rotatingUntil) > nowMs + neededMs;
}

/** Returns the time until which receivers hold off unknown signatures once the new secret is stored: some receivers read the secret late. */
export function arrivalUntil(nowMs: number): string {
  return new Date(nowMs + arrivalMs).toISOString();
}

const refusals: ReadonlySet<ApiErrorCode> = new Set([
  "bad_request",
  "conflict",
  "forbidden",
  "invalid_request",
  "key_reused",
  "not_found",
]);

/** Whether the service has refused this attempt for good: it was not done. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && refusals.has(error.code);
}

/**
 * Whether the service has failed, and may repeat the failure for the idempotency key for 48 hours: the next call needs another idempotency
 * key. The failed call may have taken effect.
 */
export function isFailure(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "service_failed" || error.code === "unexpected_status");
}

/** Whether the call was done, but its answer does not show the secret. */
export function isWithoutSecret(error: unknown): boolean {
  return error instanceof ApiError && error.code === "secret_not_shown";
}

/** For how long a call is repeated while the service says that the first one is still under way, in ms: as long as storing its secret is tried. */
const inFlightMs = storeSecretMs;
const inFlightPauseMs = 5000;

/** A run that makes calls, and how long it still waits for a call that is in flight. */
export interface CallingRun {
  readonly clock: WaitingClock;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** The call that was in flight last, by its idempotency key, and when the run gives up waiting for it. */
  inFlight?: { readonly idempotencyKey: string | undefined; readonly untilMs: number };
}

/**
 * If the error says that the service is still working on the first call, waits a few seconds and resolves to true: the call is to be repeated.
 * Resolves to false for any other error. Rejects with `in_flight` when the service has said so for minutes.
 */
export async function waitIfInFlight(error: unknown, run: CallingRun): Promise<boolean> {
  if (!(error instanceof ApiError) || error.code !== "in_flight") return false;
  const { clock, signal, logger } = run;
  const { idempotencyKey } = error;
  if (run.inFlight?.idempotencyKey !== idempotencyKey || run.inFlight === undefined) {
    run.inFlight = { idempotencyKey, untilMs: clock.now() + inFlightMs };
    logger.info({}, "The service is still working on the first call: waiting for its answer.");
  }
  if (clock.now() >= run.inFlight.untilMs) throw stillInFlight(error);
  await clock.wait(inFlightPauseMs, signal);
  return true;
}

function stillInFlight(cause: ApiError): ApiError {
  const { where, status, attempts, idempotencyKey } = cause;
  return new ApiError(
    "in_flight",
    `the service has answered for ${inFlightMs / 60_000} minutes that it is still working on the first call.`,
    "Run this again in a few minutes: it asks for the answer of the same call, which takes effect once. If the service still answers so, ask its support about this call.",
    { where, status, attempts, idempotencyKey, cause },
  );
}
