import type { Awaitable, Clock } from "@esim-webhooks/core";
import type { Policy } from "./rate.ts";

/** A place in the limit that a call has taken. */
export interface Place {
  /** The call was answered or given up: it counts for one more window from now. */
  answered(): void;
}

/** No place is free. */
export interface NoPlace {
  /** When to ask again, in ms. */
  readonly waitMs: number;
}

/**
 * The places for calls, of everything that counts against one limit. The seam for several processes with one client id: a
 * budget of your own can count in Redis. It must not reject; one that cannot reach its store should count alone.
 */
export interface Budget {
  /** Takes a place if one is free. */
  take(): Awaitable<Place | NoPlace>;
}

/** A budget that follows what the service says of its limit. */
export interface LocalBudget extends Budget {
  take(): Place | NoPlace;
  /** Slows down to a policy that is stricter. A more generous one changes nothing. */
  adopt(policy: Policy): void;
}

/** A request on its way is counted by the service at the latest so long after it was sent, answered or not. */
const longestWayMs = 2000;

/**
 * At most `calls` in any window of `windowMs`, however the service counts: in fixed windows, in sliding ones or with a token
 * bucket. The service counts a call at some moment between its sending and its answer, so a place is free again one window
 * after the answer. A call that is not answered counts as received after two seconds.
 */
export function windowBudget(clock: Clock, calls: number, windowMs: number): LocalBudget {
  let pace: Policy = { calls, windowMs };
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
      if (policy.calls / policy.windowMs >= pace.calls / pace.windowMs) return;
      // 50 in 10 s become 10 in 2 s: short windows keep both limits
      const atOnce = Math.min(calls, policy.calls);
      pace = { calls: atOnce, windowMs: policy.windowMs / Math.floor(policy.calls / atOnce) };
    },
  };
}
