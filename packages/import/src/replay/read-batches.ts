/** Reads the next batch. */
type Next<T> = () => Promise<IteratorResult<T, unknown>>;

/**
 * The same batches, each read through `read`. In the end the source is closed. If a batch was awaited when `read` threw, the
 * source is told to close, but not waited for: it cannot close before it has an answer.
 */
export async function* readBatches<T>(
  batches: AsyncIterable<T>,
  read: (next: Next<T>) => ReturnType<Next<T>>,
): AsyncGenerator<T> {
  const source = batches[Symbol.asyncIterator]();
  let isWaiting = false;
  const next: Next<T> = () => {
    isWaiting = true;
    return source.next();
  };
  try {
    for (;;) {
      const { done, value } = await read(next);
      isWaiting = false;
      if (done) return;
      yield value as T;
    }
  } finally {
    const closed = Promise.resolve(source.return?.());
    if (isWaiting) closed.catch(() => {});
    else await closed;
  }
}
