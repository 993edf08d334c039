/** Runs several pieces of work at the same time, and settles them in the order in which they began. */
export interface InOrder<Work> {
  /** Begins a piece of work, and resolves when the next can begin. Rejects with the first error of any piece. */
  begin(work: Work): Promise<void>;
  /** Resolves when nothing runs any more and everything before the first error is settled. Rejects with that error. */
  end(): Promise<void>;
  /** Aborts at the first error of any piece, with that error as its reason. */
  readonly failure: AbortSignal;
}

/**
 * @param atOnce how many pieces run at the same time
 * @param settle gets the results in the order in which the work began, without a gap, as soon as they are there
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
    if (isSettling) return; // that loop comes to this result too
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
