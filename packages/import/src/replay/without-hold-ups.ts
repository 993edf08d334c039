import { readBatches } from "./read-batches.ts";

// the next batch of a file comes sooner, so that the batches for the sink stay full; a page of a listing takes longer
const patienceMs = 20;

/**
 * The same batches. Calls `onHoldUp` when the next one has not come within 20 ms, and before an error of the source is
 * thrown, so that nothing already gathered is kept back.
 */
export function withoutHoldUps<T>(
  batches: AsyncIterable<T>,
  onHoldUp: () => Promise<void>,
): AsyncGenerator<T> {
  return readBatches(batches, async (next) => {
    const coming = next();
    if (!(await isSettledSoon(coming))) await onHoldUp();
    try {
      return await coming;
    } catch (error) {
      await onHoldUp();
      throw error;
    }
  });
}

function isSettledSoon(work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(false), patienceMs);
    const settled = () => {
      clearTimeout(timer);
      resolve(true);
    };
    work.then(settled, settled);
  });
}
