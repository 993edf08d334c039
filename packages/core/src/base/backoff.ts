export interface FullJitterOptions {
  /** The longest pause after the first failure, in ms. */
  readonly baseMs: number;
  /** The longest pause at all, in ms. */
  readonly capMs: number;
  /** From 0 to below 1. Default: `Math.random`. */
  readonly random?: () => number;
}

/** How long to wait, in ms, after the so-manieth failure, counted from 1. */
export type Backoff = (attempt: number) => number;

/** The same backoff, whose mistakes do not become those of a worker: `otherwise` is asked where it has no number. */
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

/** Exponential backoff with full jitter: anything from 0 to twice the last bound, up to the cap. */
export function fullJitter({ baseMs, capMs, random = Math.random }: FullJitterOptions): Backoff {
  return (attempt) => Math.floor(random() * Math.min(capMs, baseMs * 2 ** Math.min(attempt - 1, 1000)));
}
