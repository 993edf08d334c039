import { safeListener } from "@esim-webhooks/core/kit";

/** Tells workers that there may be something to take, so that they need not wait for their next look. */
export interface Hints {
  give(): void;
  /** Returns a function that unsubscribes. */
  on(listener: () => void): () => void;
  isWatched(): boolean;
}

/** `watch` is told when the first listener comes and when the last one has gone. */
export function createHints(watch: (isOn: boolean) => void): Hints {
  const listeners = new Set<() => void>();
  return {
    give() {
      for (const listener of listeners) listener();
    },
    on(listener) {
      const own = safeListener(listener); // one that subscribes twice is two
      listeners.add(own);
      if (listeners.size === 1) watch(true);
      return () => {
        if (listeners.delete(own) && listeners.size === 0) watch(false);
      };
    },
    isWatched: () => listeners.size > 0,
  };
}
