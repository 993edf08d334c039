/** The time by which something must be answered. */
export interface Deadline {
  /** Aborts with a `TimeoutError` at the deadline. */
  readonly signal: AbortSignal;
  /** Resolves at the deadline; never, if it is cleared before. */
  readonly reached: Promise<void>;
  clear(): void;
}

export function startDeadline(ms: number): Deadline {
  const controller = new AbortController();
  const { promise: reached, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    resolve();
    controller.abort(new DOMException(`There was no result within ${ms} ms.`, "TimeoutError"));
  }, ms);
  return { signal: controller.signal, reached, clear: () => clearTimeout(timer) };
}
