/** Reads the next batch. */
type Next<T> = () => Promise<IteratorResult<T, unknown>>;

/**
 * Yields the same batches, each read through `read`, and closes the source at the end. If `read` threw while a batch was awaited,
 * the end does not wait for the source, which cannot close before that batch arrives.
 */
async function* readBatches<T>(
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

/** Yields the same batches until the signal aborts; then throws its reason, also while a batch is awaited. */
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

// the next batch of a file comes sooner, so that the batches for the sink stay full; a page of a listing takes longer
const patienceMs = 20;

/**
 * Yields the same batches until `failure` aborts; then throws its reason, also while a batch is awaited. Calls `flush` when the next
 * batch has not arrived within 20 ms, and before an error of the source is thrown, so that nothing gathered is held back.
 */
export function flushingWhenLate<T>(
  batches: AsyncIterable<T>,
  flush: () => Promise<void>,
  failure: AbortSignal,
): AsyncGenerator<T> {
  return readBatches(batches, async (next) => {
    const coming = next();
    if (!(await isSettledSoon(coming))) await flush();
    try {
      return await unlessAborted(coming, failure);
    } catch (error) {
      await flush();
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

/** Resolves and rejects as `work` does; once the signal aborts, rejects with its reason. */
// not Promise.race with one promise for the signal: that promise would keep a reaction for every call
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

/** Runs several pieces of work at the same time, and settles them in the order in which they began. */
export interface InOrder<Work> {
  /** Begins a piece of work, and resolves when the next can begin. Rejects with the first error of any piece. */
  begin(work: Work): Promise<void>;
  /** Waits until nothing runs any more and everything before the first error is settled. Then rejects with that error, if there is one. */
  end(): Promise<void>;
  /** Aborts at the first error of any piece, with that error as its reason. */
  readonly failure: AbortSignal;
}

/**
 * @param atOnce how many pieces run at the same time
 * @param settle gets the results in the order in which the work began, without a gap, as soon as possible
 */
export function createInOrder<Work, Result>(
  atOnce: number,
  perform: (work: Work) => Promise<Result>,
  settle: (work: Work, result: Result) => Promise<void>,
): InOrder<Work> {
  const queue: { readonly work: Work; done?: { readonly result: Result } }[] = [];
  const failing = new AbortController();
  const failure = failing.signal;
  const longestQueue = 4 * atOnce; // limits how many results wait for a slow piece
  let running = 0;
  let isSettling = false;
  let wake = () => {};

  async function settleDone(): Promise<void> {
    if (isSettling) return; // the loop that runs settles this result too
    isSettling = true;
    for (let head = queue[0]; head?.done !== undefined; head = queue[0]) {
      await settle(head.work, head.done.result); // if it fails, isSettling stays true, and nothing after it is settled
      queue.shift();
    }
    isSettling = false;
  }

  const change = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  return {
    failure,
    async begin(work) {
      failure.throwIfAborted();
      const entry: (typeof queue)[number] = { work };
      queue.push(entry);
      running += 1;
      perform(work)
        .then((result) => {
          entry.done = { result };
          return settleDone();
        })
        .catch((error: unknown) => failing.abort(error))
        .finally(() => {
          running -= 1;
          wake();
        });
      for (;;) {
        failure.throwIfAborted();
        if (running < atOnce && queue.length < longestQueue) return;
        await change();
      }
    },
    async end() {
      while (running > 0) await change();
      failure.throwIfAborted();
    },
  };
}
