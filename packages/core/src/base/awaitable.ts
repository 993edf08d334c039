/** A value, or a promise of it. `await` accepts both. */
export type Awaitable<T> = T | Promise<T>;

/** Whether there is something to wait for. True for whatever `await` would wait for. */
export function isPromise<T>(given: Awaitable<T>): given is Promise<T> {
  return typeof (given as { then?: unknown } | null | undefined)?.then === "function";
}

/** Calls `next` with the value: at once, or when its promise resolves. */
export function andThen<T, Result>(
  given: Awaitable<T>,
  next: (value: T) => Awaitable<Result>,
): Awaitable<Result> {
  return isPromise(given) ? Promise.resolve(given).then(next) : next(given);
}

/** Calls `done` with the result of `work`, or `failed` with what it threw: at once, unless `work` returns a promise. */
export function attempt<T, Result>(
  work: () => Awaitable<T>,
  done: (result: T) => Result,
  failed: (error: unknown) => Result,
): Awaitable<Result> {
  let result: Awaitable<T>;
  try {
    result = work();
    if (isPromise(result)) return Promise.resolve(result).then(done, failed);
  } catch (error) {
    return failed(error);
  }
  return done(result);
}
