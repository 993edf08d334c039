import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "@esim-webhooks/core";

/** Returns the time, in ms since the Unix epoch, and waits. Tests pass their own. */
export interface WaitingClock extends Clock {
  /** Resolves after `ms`. Rejects as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's time, not a monotonic one: other machines compare the windows of keys with their time. */
export const wallClock: WaitingClock = {
  now: () => Date.now(),
  wait: (ms, signal) => sleep(ms, undefined, { signal }),
};

/** Resolves when the clock shows `timeMs`, in ms since the Unix epoch. Rejects as soon as the signal aborts. */
export async function waitUntil(clock: WaitingClock, timeMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (let leftMs = timeMs - clock.now(); leftMs > 0; leftMs = timeMs - clock.now()) {
    await clock.wait(leftMs, signal); // a timer may be early
  }
}
