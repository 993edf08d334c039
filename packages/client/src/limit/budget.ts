import type { Awaitable, Clock } from "@esim-webhooks/core";
import type { Policy } from "./rate.ts";

/** A place in the limit that a call has taken. */
export interface Place {
  /**
   * The call was answered: it counts for one more window from now. Not called for a call that was given up or lost: its request may arrive
   * later, so it counts until two seconds and a window after it was sent. What this throws is logged.
   */
  answered(): Awaitable<void>;
}

/** No place is free. */
export interface NoPlace {
  /** How long to wait before the next `take`, in ms. */
  readonly waitMs: number;
}

/**
 * The places for all calls that count against one limit. For several processes with one client id, a budget of your own can
 * count in Redis. It must not reject; while it cannot reach its store, it should count only the calls of its process.
 */
export interface Budget {
  /** Takes a place if one is free. */
  take(): Awaitable<Place | NoPlace>;
}

/** A budget that follows what the service says of its limit. */
export interface LocalBudget extends Budget {
  take(): Place | NoPlace;
  /** Applies the stricter one of the limit that was set and this policy, until the next policy. */
  adopt(policy: Policy): void;
}

/** The service counts a request at the latest this long after it was sent, answered or not. */
const longestWayMs = 2000;

/**
 * At most `calls` in any window of `windowMs`, however the service counts: in fixed windows, in sliding ones or with a token
 * bucket. The service counts a call at some moment between its sending and its answer, so a place is free again one window
 * after the answer. A call that is not answered within two seconds counts as received two seconds after it was sent.
 */
export function windowBudget(clock: Clock, calls: number, windowMs: number): LocalBudget {
  const limit: Policy = { calls, windowMs };
  let pace = limit;
  let places: { freeAt: number }[] = [];
  return {
    take() {
      const now = clock.now();
      places = places.filter(({ freeAt }) => freeAt > now);
      if (places.length >= pace.calls) return { waitMs: Math.min(...places.map((it) => it.freeAt)) - now };
      const { windowMs } = pace;
      const place = { freeAt: now + longestWayMs + windowMs };
      places.push(place);
      return {
        answered() {
          place.freeAt = Math.min(place.freeAt, clock.now() + windowMs);
        },
      };
    },
    adopt(policy) {
      pace = rateOf(policy) < rateOf(limit) ? inShortWindows(policy, calls) : limit;
    },
  };
}

function rateOf({ calls, windowMs }: Policy): number {
  return calls / windowMs;
}

/** Shortens a policy's window so that at most `mostAtOnce` calls go together: for 10, 50 calls in 10 s become 10 in 2 s. That keeps both limits. */
function inShortWindows(policy: Policy, mostAtOnce: number): Policy {
  const calls = Math.min(mostAtOnce, policy.calls);
  return { calls, windowMs: policy.windowMs / Math.floor(policy.calls / calls) };
}
