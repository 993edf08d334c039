/** Work that is begun in order, some at the same time, and settled in the same order. */
export interface InOrder<Work> {
  /** Begins it, and resolves when there is room for the next. Rejects with what kept something from being done. */
  begin(work: Work): Promise<void>;
  /** Resolves when nothing is under way any more and all that was done before the first failure is settled. */
  end(): Promise<void>;
}

/**
 * @param atOnce how much is under way at the same time
 * @param settle gets the results in the order in which the work was begun, without a gap
 */
export function createInOrder<Work, Result>(
  atOnce: number,
  perform: (work: Work) => Promise<Result>,
  settle: (work: Work, result: Result) => Promise<void>,
): InOrder<Work> {
  const queue: { readonly work: Work; done?: { readonly result: Result } }[] = [];
  const longestQueue = 4 * atOnce; // one that takes long does not let the others pile up behind it
  let running = 0;
  let failure: { readonly error: unknown } | undefined;
  let wake = () => {};

  async function settleWhatIsDone(): Promise<void> {
    for (let head = queue[0]; head?.done !== undefined; head = queue[0]) {
      const { result } = head.done;
      delete head.done; // if settling fails, it stays as the gap that nothing comes after
      await settle(head.work, result);
      queue.shift();
    }
  }

  const change = () =>
    new Promise<void>((resolve) => {
      wake = resolve;
    });

  return {
    async begin(work) {
      const entry: (typeof queue)[number] = { work };
      queue.push(entry);
      running += 1;
      perform(work)
        .then(
          (result) => {
            entry.done = { result };
          },
          (error: unknown) => {
            failure ??= { error };
          },
        )
        .finally(() => {
          running -= 1;
          wake();
        });
      for (;;) {
        await settleWhatIsDone();
        if (failure) throw failure.error;
        if (running < atOnce && queue.length < longestQueue) return;
        await change();
      }
    },
    async end() {
      while (running > 0) await change();
      await settleWhatIsDone();
      if (failure) throw failure.error;
    },
  };
}
