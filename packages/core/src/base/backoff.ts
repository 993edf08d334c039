import type { Logger } from "./logger.ts";
import { warnOfSetup } from "./safe-logger.ts";

/** Options of `fullJitter`. */
export interface FullJitterOptions {
  /** The longest pause after the first failure, in ms. */
  readonly baseMs: number;
  /** The longest pause after any failure, in ms. */
  readonly capMs: number;
  /** Returns a random number from 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** Returns how long to wait, in ms, after the failure with this number; the first is 1. */
export type Backoff = (attempt: number) => number;

const longestPauseMs = 86_400_000;

/**
 * Makes a function that limits a pause that `source` gives, in ms, to a day: an event that is due years from now appears in no health check. If
 * the value is not a number from 0, `otherwise` returns the pause. The first wrong value is logged.
 */
export function limitPauses(
  source: string,
  logger: Logger,
  otherwise: Backoff,
): (pauseMs: unknown, attempt: number) => number {
  let isLogged = false;
  return (pauseMs, attempt) => {
    const isPause = typeof pauseMs === "number" && pauseMs >= 0;
    if (!isLogged && !(isPause && pauseMs <= longestPauseMs)) {
      isLogged = true;
      warnOfSetup(
        logger,
        "invalid_pause",
        `${source} gave ${typeof pauseMs === "number" ? `${pauseMs} ms` : "no number"} as the pause before the next attempt, so ` +
          `${isPause ? "the event waits for a day, the longest pause" : "the default applies"}. Give milliseconds, from 0 to ${longestPauseMs}.`,
      );
    }
    return isPause ? Math.min(pauseMs, longestPauseMs) : otherwise(attempt);
  };
}

/** Makes a backoff that never fails, with the limits of `limitPauses`. */
export function safeBackoff(backoff: Backoff, otherwise: Backoff, logger: Logger): Backoff {
  const limited = limitPauses("The option backoff", logger, otherwise);
  return (attempt) => {
    let pauseMs: unknown;
    try {
      pauseMs = backoff(attempt);
    } catch {
      // undefined is not a number of ms either
    }
    return limited(pauseMs, attempt);
  };
}

/** Exponential backoff with full jitter: a random pause below a bound that doubles with each failure, up to the cap. */
export function fullJitter({ baseMs, capMs, random = Math.random }: FullJitterOptions): Backoff {
  return (attempt) => Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 1000)));
}
