import type { Clock, Logger } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/kit";
import { listedMs } from "../base/deliveries.ts";
import { isoOf } from "./pass-state.ts";

const staleMs = 5 * 24 * 60 * 60_000;
const everyMs = 60 * 60_000;

/** Warns, at most once an hour, when the events of an endpoint have not been settled for so long that the listing soon forgets them. */
export function createStaleWarning(
  fields: { readonly endpoint: string; readonly source: string },
  logger: Logger,
  clock: Clock,
): (settledToMs: number) => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return (settledToMs) => {
    const ageMs = clock.now() - settledToMs;
    if (ageMs < staleMs || monotonicClock.now() - warnedAt < everyMs) return;
    warnedAt = monotonicClock.now();
    logger.warn(
      { ...fields, settledTo: isoOf(settledToMs), goneInMs: Math.max(0, listedMs - ageMs) },
      "The endpoint has not been reconciled since settledTo. The service lists events for 7 days, so the oldest will be gone in goneInMs.",
    );
  };
}
