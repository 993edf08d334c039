import { setTimeout as pause } from "node:timers/promises";

const times = 10_000;
/** Whoever waits this long looks for something again and again. */
const pollMs = 5000;

/** The machine's time, in which a wait takes a small part of its time: the rest of it is skipped. A poll skips half a minute. */
export function fastClock(): {
  now(): number;
  wait(ms: number, signal: AbortSignal): Promise<void>;
} {
  let skippedMs = 0;
  return {
    now: () => Date.now() + skippedMs,
    async wait(ms, signal) {
      const waitMs = ms === pollMs ? 30_000 : ms;
      await pause(waitMs / times, undefined, { signal });
      skippedMs += waitMs - waitMs / times;
    },
  };
}

/** A client's time, in which the pauses between the attempts of a call are short, and its limits as long as ever. */
export const shortPauses = {
  now: () => performance.now(),
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await pause(ms > 20_000 ? ms : ms / 100, undefined, { signal, ref: false });
  },
};
