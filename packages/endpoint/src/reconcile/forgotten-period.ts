import { listedMs, newest } from "../base/deliveries.ts";
import { isoOf } from "./pass-state.ts";
import type { Period } from "./reconcile-report.ts";

/** A listed time can be right if it is less than 30 days ahead of our own clock, which may be behind. */
const mostAheadMs = 30 * 24 * 60 * 60_000;

/**
 * A first pass with a `since` of 7 days ago lost nothing if the listing begins less than this after `since`, in ms: the command took some
 * time to start and waited for the rate limit, and two clocks differ.
 */
const slackMs = 10 * 60_000;

export interface WholeListing {
  /** How far back the caller asked to go. */
  readonly since: Date | undefined;
  readonly nowMs: number;
  /** The time of the newest attempt that is listed; NaN if none is. */
  readonly newestMs: number;
  /** The newest time that the oldest delivery shows; Infinity if no delivery shows a time. */
  readonly oldestMs: number;
  /** The time up to which events were settled before the pass. */
  readonly fromMs: number;
  /** When the endpoint was created. NaN if it is not available: then the reported period may be too long, which is better than no alarm. */
  readonly createdMs: number;
}

/** The period that the listing has forgotten, not including the time before the endpoint was created; null if there is none. */
export function findForgottenPeriod(listing: WholeListing): Period | null {
  const { since, nowMs, newestMs, oldestMs, fromMs, createdMs } = listing;
  const isPlausible = newestMs <= nowMs + mostAheadMs;
  const endMs = isPlausible ? newest([nowMs, newestMs]) : nowMs;
  const toMs = Math.min(endMs - listedMs, oldestMs); // what is listed is not forgotten, whichever clock is wrong
  if (toMs - fromMs <= (fromMs === since?.getTime() ? slackMs : 0)) return null;
  if (createdMs >= toMs) return null;
  return { from: isoOf(createdMs > fromMs ? createdMs : fromMs), to: isoOf(toMs) };
}
