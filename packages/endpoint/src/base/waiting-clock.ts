import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "@esim-webhooks/core";

/** Returns the time, in ms since the Unix epoch, and waits. Tests pass their own. */
export interface WaitingClock extends Clock {
  /** Resolves after `ms`. Rejects as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's time: the windows of keys are compared with that of other machines. */
export const wallClock: WaitingClock = {
  now: () => Date.now(),
  wait: (ms, signal) => pause(ms, undefined, { signal }),
};

/** Resolves when it is that time by the clock, in ms since the Unix epoch. Rejects as soon as the signal aborts. */
export async function waitUntil(clock: WaitingClock, timeMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (let leftMs = timeMs - clock.now(); leftMs > 0; leftMs = timeMs - clock.now()) {
    await clock.wait(leftMs, signal); // a timer may be early
  }
}
