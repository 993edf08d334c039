/** Deletes what is over, one slice at a time. */
export interface Purger {
  /** Deletes a slice, unless it is too early or another slice is being deleted. Rejects as `purge` does. */
  purgeIfDue(): Promise<void>;
  /** For how many ms it is too early. */
  waitMs(): number;
}

const sliceRows = 500;
const pauseByWork = 9; // so a tenth of the time is for purging
const everyMs = 60_000;

/**
 * For authors of stores: calls `purge` with a limit, once a minute. While it resolves to the limit, there may be more: then the
 * next slice waits nine times as long as the last one took, so a large import whose retention ends slows down nothing else.
 */
export function createPurger(purge: (limit: number) => Promise<number>): Purger {
  let nextAt = 0;
  return {
    waitMs: () => Math.max(0, nextAt - performance.now()),
    async purgeIfDue() {
      const startedAt = performance.now();
      if (startedAt < nextAt) return;
      nextAt = Number.POSITIVE_INFINITY;
      let purged = 0;
      try {
        purged = await purge(sliceRows);
      } finally {
        const now = performance.now();
        nextAt = now + (purged < sliceRows ? everyMs : pauseByWork * (now - startedAt));
      }
    },
  };
}
