import type { Awaitable } from "@esim-webhooks/core";

/** Returns a function whose callers share one call of `make` while it runs, and its answer for `keptMs` after. */
export function shared<Answer>(make: () => Awaitable<Answer>, keptMs: number): () => Promise<Answer> {
  let current: Promise<Answer> | undefined;
  let keptUntil = Number.POSITIVE_INFINITY;

  return () => {
    if (current !== undefined && performance.now() < keptUntil) return current;
    keptUntil = Number.POSITIVE_INFINITY;
    const made = (async () => make())();
    const end = () => {
      keptUntil = performance.now() + keptMs;
    };
    made.then(end, end);
    current = made;
    return made;
  };
}
