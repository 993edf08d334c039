import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "@esim-webhooks/core";
import { systemClock } from "@esim-webhooks/core/kit";

/** Tells the time, in ms since the Unix epoch, and waits. Tests hand in their own. */
export interface WaitingClock extends Clock {
  /** Resolves after `ms`. Rejects as soon as the signal aborts. */
  wait(ms: number, signal: AbortSignal): Promise<void>;
}

/** The machine's time: the windows of keys are compared with that of other machines. */
export const wallClock: WaitingClock = {
  now: systemClock.now,
  wait: (ms, signal) => pause(ms, undefined, { signal }),
};
