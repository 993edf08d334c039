import type { Switches } from "../base/switches.ts";
import type { Answer } from "./answer.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/** The delay before each attempt, after the end of the one before: ms on the service's clock. 15 h 51 min 30 s together. */
export const delaysMs: readonly number[] = [
  0,
  30 * second,
  minute,
  5 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
];

/** What an attempt makes of its delivery. */
export type Settlement =
  | { readonly status: "delivered" }
  | { readonly status: "failed"; readonly retryAfterMs: number | null }
  | { readonly status: "exhausted" };

/**
 * 5xx, 408 and no answer are tried again, up to ten attempts. Any other answer but a 2xx ends the delivery.
 * @param attempt 1 for the first one
 */
export function settlementOf(answer: Answer, attempt: number, switches: Switches): Settlement {
  const { httpStatus: status } = answer;
  if (status !== null && status >= 200 && status < 300) return { status: "delivered" };
  if (status === null || status >= 500 || status === 408) {
    const retryAfterMs = delaysMs[attempt];
    return retryAfterMs === undefined ? { status: "exhausted" } : { status: "failed", retryAfterMs };
  }
  return switches.nonRetryable === "exhausted"
    ? { status: "exhausted" }
    : { status: "failed", retryAfterMs: null };
}
