import type { WaitingClock } from "../../src/base/waiting-clock.ts";

/** A clock whose waits end at once. */
export function fastClock(): WaitingClock {
  let aheadMs = 0;
  return {
    now: () => Date.now() + aheadMs,
    async wait(ms) {
      aheadMs += ms;
    },
  };
}
