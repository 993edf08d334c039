/** A number of places, given out in the order of asking. */
export interface Places {
  /** Resolves when there is a place. Rejects when the signal aborts first. */
  take(signal: AbortSignal): Promise<void>;
  free(): void;
}

export function createPlaces(most: number): Places {
  const waiting = new Set<() => void>();
  let taken = 0;
  return {
    async take(signal) {
      signal.throwIfAborted();
      if (taken < most) {
        taken += 1;
        return;
      }
      await new Promise<void>((resolve, reject) => {
        const give = () => {
          signal.removeEventListener("abort", leave);
          resolve();
        };
        const leave = () => {
          waiting.delete(give);
          reject(signal.reason);
        };
        waiting.add(give);
        signal.addEventListener("abort", leave, { once: true });
      });
    },
    free() {
      const [next] = waiting;
      if (next === undefined) {
        taken -= 1;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}
