import { setTimeout as pause } from "node:timers/promises";

const times = 1000;

/** The machine's time, in which a wait takes a small part of its time: the rest of it is skipped. */
export function fastClock(): {
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
} {
  let skippedMs = 0;
  return {
    now: () => Date.now() + skippedMs,
    async wait(ms, signal) {
      await pause(ms / times, undefined, { signal });
      skippedMs += ms - ms / times;
    },
  };
}
