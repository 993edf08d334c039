import { monotonicClock } from "../base/clock.ts";
import { type Logger, throttledLog } from "../base/logger.ts";

/** Warns of handlers that block the event loop: no lease is renewed meanwhile. */
export interface LoopWatch {
  /** Calls a handler, and warns if the call itself takes long. */
  call<Result>(type: string, handler: () => Result): Result;
  /** Warns when a timer fires late, which happens if a handler blocks after an `await`. Names the types that ran. */
  timerFired(dueAt: number, types: () => readonly (string | null)[]): void;
}

/** Accepts that the event loop is blocked for a third of a lease, and for 1 s at most. */
export function watchLoop(logger: Logger, leaseMs: number): LoopWatch {
  const acceptedMs = Math.min(1000, leaseMs / 3);
  const log = throttledLog((fields, message) => logger.warn(fields, message), monotonicClock);
  let warnedAt = Number.NEGATIVE_INFINITY;

  function timerFired(dueAt: number, types: () => readonly (string | null)[]): void {
    const now = performance.now();
    if (now - dueAt <= acceptedMs || warnedAt > dueAt) return;
    warnedAt = now;
    log(
      { types: [...new Set(types())], blockedMs: Math.round(now - dueAt) },
      "The event loop was blocked while handlers of these types ran, so no lease was renewed. Do long computations in a worker thread.",
    );
  }

  return {
    call(type, handler) {
      const calledAt = performance.now();
      const result = handler();
      timerFired(calledAt, () => [type]);
      return result;
    },
    timerFired,
  };
}
