import { unlessAborted } from "../base/unless-aborted.ts";
import { readBatches } from "./read-batches.ts";

/** The same batches until the signal aborts; then throws its reason, also while a batch is awaited. */
export function untilAborted<T>(
  batches: AsyncIterable<T>,
  signal: AbortSignal | undefined,
): AsyncGenerator<T> {
  return readBatches(batches, async (next) => {
    signal?.throwIfAborted();
    try {
      return await unlessAborted(next(), signal);
    } catch (error) {
      signal?.throwIfAborted(); // the source may have thrown because of the same signal, such as an AbortError
      throw error;
    }
  });
}
