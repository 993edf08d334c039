import { randomUUID } from "node:crypto";
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
