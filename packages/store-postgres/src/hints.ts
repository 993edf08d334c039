/** Tells workers of this process that there is something to take, so that they need not wait for their next look. */
export interface Hints {
  give(): void;
  on(listener: () => void): () => void;
}

export function createHints(): Hints {
  const listeners = new Set<() => void>();
  return {
    give() {
      for (const listener of listeners) listener();
    },
    on(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
