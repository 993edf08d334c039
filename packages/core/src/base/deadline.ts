/** The time by which something must be done. */
export interface Deadline {
  /** Aborts with a `TimeoutError` at the deadline. */
  readonly signal: AbortSignal;
  /** Resolves to the result of the work, or to undefined at the deadline. Work that is in time clears the deadline. */
  before<T>(work: Promise<T>): Promise<T | undefined>;
}

export function startDeadline(ms: number): Deadline {
  const controller = new AbortController();
  return {
    signal: controller.signal,
    before: (work) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          resolve(undefined);
          controller.abort(new DOMException(`There was no result within ${ms} ms.`, "TimeoutError"));
        }, ms);
        work.then(
          (result) => {
            clearTimeout(timer);
            resolve(result);
          },
          (error) => {
            clearTimeout(timer);
            reject(error);
          },
        );
      }),
  };
}
