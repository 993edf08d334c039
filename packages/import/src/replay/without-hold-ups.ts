import { unlessAborted } from "../base/unless-aborted.ts";
import { readBatches } from "./read-batches.ts";

// the next batch of a file comes sooner, so that the batches for the sink stay full; a page of a listing takes longer
const patienceMs = 20;

/**
 * The same batches until `failure` aborts; then throws its reason, also while a batch is awaited. Calls `onHoldUp` when the
 * next batch has not come within 20 ms, and before an error of the source is thrown, so that nothing gathered is kept back.
 */
export function withoutHoldUps<T>(
  batches: AsyncIterable<T>,
  onHoldUp: () => Promise<void>,
  failure: AbortSignal,
): AsyncGenerator<T> {
  return readBatches(batches, async (next) => {
    const coming = next();
    if (!(await isSettledSoon(coming))) await onHoldUp();
    try {
      return await unlessAborted(coming, failure);
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
