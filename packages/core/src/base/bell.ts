/** Wakes one who waits, once, however often it is rung. */
export interface Bell {
  ring(): void;
  /** Resolves once it was rung since the last time, after `ms`, or when the signal aborts. */
  rung(ms?: number): Promise<void>;
}

export function createBell(signal: AbortSignal): Bell {
  let isRung = false;
  let wake: (() => void) | undefined;
  const ring = () => {
    isRung = true;
    wake?.();
  };
  return {
    ring,
    async rung(ms) {
      if (!isRung && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const now = () => resolve();
        wake = now;
        signal.addEventListener("abort", now);
        const timer = ms === undefined ? undefined : setTimeout(now, ms);
        await promise;
        clearTimeout(timer);
        signal.removeEventListener("abort", now);
        wake = undefined;
      }
      isRung = false;
    },
  };
}
