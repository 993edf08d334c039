import { randomUUID } from "node:crypto";
import { ApiError, type ApiErrorCode } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";

/** The key of a call, as the key store has it before the call is made. */
export interface KeyedCall {
  readonly idempotencyKey: string;
  /** When the key was made: a date-time of our own clock. */
  readonly keyedAt: string;
}

/** The service keeps an answer for 48 hours; within these it surely is the same one. */
const lifetimeMs = 47 * 60 * 60_000;

export function freshKey(nowMs: number): KeyedCall {
  return { idempotencyKey: randomUUID(), keyedAt: new Date(nowMs).toISOString() };
}

/** Whether the service may have forgotten the key, and would do the same call once more. */
export function isForgotten({ keyedAt }: KeyedCall, nowMs: number): boolean {
  return dateTimeMs(keyedAt) < nowMs - lifetimeMs;
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
 * Whether the service has failed, and may repeat the failure for the key for 48 hours: another call needs another key. What failed may
 * have been done.
 */
export function isFailure(error: unknown): boolean {
  return error instanceof ApiError && (error.code === "service_failed" || error.code === "unexpected_status");
}
