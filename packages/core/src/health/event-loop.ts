import { unref } from "../base/waiting.ts";

/** Watches for stalls of the event loop. */
export interface StallWatch {
  /** How long the last stall was, in ms; 0 once the loop has run for `stallMs` since. */
  stalledMs(): number;
  stop(): void;
}

/**
 * Notices when the event loop runs nothing for `stallMs`, by a timer that is late. While the loop stalls, no probe is answered: a probe can only
 * see that it has stalled.
 * @param now the time in ms, for tests
 */
export function watchStalls(stallMs: number, now: () => number = () => performance.now()): StallWatch {
  const everyMs = stallMs / 10;
  let lookedAt = now();
  let last = { ms: 0, endedAt: Number.NEGATIVE_INFINITY };

  function look(): void {
    const at = now();
    const ms = at - lookedAt;
    if (ms >= stallMs) last = { ms, endedAt: at };
    lookedAt = at;
  }

  const timer = setInterval(look, everyMs);
  unref(timer);
  return {
    stalledMs() {
      look(); // a request may be read before the late timer fires
      return now() - last.endedAt < stallMs ? last.ms : 0;
    },
    stop: () => clearInterval(timer),
  };
}
