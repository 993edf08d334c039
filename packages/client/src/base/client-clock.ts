import type { Clock } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/internal";

/** Where a client's time comes from, and how it waits. Tests pass their own. */
export interface ClientClock extends Clock {
  /** Resolves after `ms`. Rejects with the signal's reason as soon as it aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

const longestTimerMs = 2 ** 31 - 1;

/** Real time that never jumps, even when the machine's clock is set. */
export const realClock: ClientClock = {
  now: monotonicClock.now,
  wait: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const abort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener("abort", abort);
          resolve();
        },
        Math.min(ms, longestTimerMs),
      );
      signal.addEventListener("abort", abort, { once: true });
    }),
};
