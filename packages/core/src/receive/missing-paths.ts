import { type Clock, monotonicClock } from "../base/clock.ts";

/** The paths for which a lookup has found no endpoint. */
export interface MissingPaths {
  /** Whether a lookup found no endpoint a moment ago, so that no other lookup begins now: any client can ask for any path. */
  isResting(path: string): boolean;
  /** Notes that a lookup has found the path's endpoint. */
  found(path: string): void;
  /** Notes that the path's endpoint, which was known until now, is no longer cached. */
  left(path: string): void;
  /**
   * Notes that a lookup has found no endpoint. Returns whether that is believed: immediately if none was known in the last hour,
   * otherwise only if another lookup found none at least 5 s ago. A single empty answer may come from a replica that lags.
   */
  missed(path: string): boolean;
}

/** A path whose endpoint is no longer cached, and may still exist. Times of the monotonic clock, in ms. */
interface FormerPath {
  readonly knownAt: number;
  readonly missed?: { readonly firstAt: number; readonly lastAt: number };
}

const mostUnknown = 1000;
const unknownForMs = 10_000;
const mostFormer = 10_000;
const formerForMs = 60 * 60_000;
const formerRestsForMs = 1000;
const confirmedAfterMs = 5000;

/** Remembers 1,000 unknown paths for 10 s, and for an hour 10,000 paths that had an endpoint; the oldest are forgotten first. */
export function createMissingPaths(clock: Clock): MissingPaths {
  const unknownSince = new Map<string, number>(); // by `clock`; the oldest first
  const former = new Map<string, FormerPath>(); // the oldest first

  function formerOf(path: string): FormerPath | undefined {
    const found = former.get(path);
    if (found === undefined || monotonicClock.now() - found.knownAt < formerForMs) return found;
    former.delete(path);
    return undefined;
  }

  return {
    isResting(path) {
      const missed = formerOf(path)?.missed;
      if (missed !== undefined) return monotonicClock.now() - missed.lastAt < formerRestsForMs;
      const sinceMs = clock.now() - (unknownSince.get(path) ?? Number.NEGATIVE_INFINITY);
      return sinceMs >= 0 && sinceMs < unknownForMs; // a clock that was set back forgets
    },
    found(path) {
      unknownSince.delete(path);
      former.delete(path);
    },
    left(path) {
      remember(former, path, { knownAt: monotonicClock.now() }, mostFormer);
    },
    missed(path) {
      const known = formerOf(path);
      if (known !== undefined) {
        const lastAt = monotonicClock.now();
        const firstAt = known.missed?.firstAt ?? lastAt;
        if (lastAt - firstAt < confirmedAfterMs) {
          former.set(path, { ...known, missed: { firstAt, lastAt } });
          return false;
        }
        former.delete(path);
      }
      remember(unknownSince, path, clock.now(), mostUnknown);
      return true;
    },
  };
}

/** Sets the value as the newest one, and forgets the oldest beyond `most`. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value, most: number): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  for (const oldest of map.keys()) {
    map.delete(oldest);
    return;
  }
}
