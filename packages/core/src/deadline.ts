/** The time by which something must be answered. */
export interface Deadline<T> {
  /** Aborts with a `TimeoutError` at the deadline. */
  readonly signal: AbortSignal;
  /** Resolves at the deadline to the value it was made with; never, if it is cleared before. */
  readonly reached: Promise<T>;
  clear(): void;
}

export function startDeadline<T>(ms: number, value: T): Deadline<T> {
  const controller = new AbortController();
  const { promise: reached, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => {
    resolve(value);
    controller.abort(new DOMException(`There was no result within ${ms} ms.`, "TimeoutError"));
  }, ms);
  return { signal: controller.signal, reached, clear: () => clearTimeout(timer) };
}
