/** Lets a loop sleep until there is something to do. Waking it twice before it sleeps counts once. */
export interface Wakeup {
  wake(): void;
  /** Resolves when it was woken since the last time, after `ms`, or when the signal aborts. */
  wait(ms?: number): Promise<void>;
}

export function createWakeup(signal: AbortSignal): Wakeup {
  let isWoken = false;
  let resume: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      resume?.();
    },
    async wait(ms) {
      if (!isWoken && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const now = () => resolve();
        resume = now;
        signal.addEventListener("abort", now);
        const timer = ms === undefined ? undefined : setTimeout(now, ms);
        await promise;
        clearTimeout(timer);
        signal.removeEventListener("abort", now);
        resume = undefined;
      }
      isWoken = false;
    },
  };
}
