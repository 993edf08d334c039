export interface FullJitterOptions {
  /** The longest pause after the first failure, in ms. */
  readonly baseMs: number;
  /** The longest pause after any failure, in ms. */
  readonly capMs: number;
  /** Returns a random number from 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** How long to wait, in ms, after the n-th failure, counted from 1. */
export type Backoff = (attempt: number) => number;

/** Makes a backoff that never fails: where `backoff` throws or gives no number, `otherwise` decides. */
export function safeBackoff(backoff: Backoff, otherwise: Backoff): Backoff {
  return (attempt) => {
    try {
      const ms: unknown = backoff(attempt);
      return typeof ms === "number" && ms >= 0 ? ms : otherwise(attempt);
    } catch {
      return otherwise(attempt);
    }
  };
}

/** Exponential backoff with full jitter: a random pause below a bound that doubles with each failure, up to the cap. */
export function fullJitter({ baseMs, capMs, random = Math.random }: FullJitterOptions): Backoff {
  return (attempt) => Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 1000)));
}
