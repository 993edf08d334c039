import type { ClientClock } from "./client-clock.ts";

/** A signal that aborts after a time or with another signal, whichever is first. */
export interface Timeout {
  readonly signal: AbortSignal;
  /** Whether the time ended first. */
  readonly isOver: boolean;
  /** Ends the timer. */
  clear(): void;
}

export function startTimeout(clock: ClientClock, ms: number, outer?: AbortSignal): Timeout {
  const ended = new AbortController();
  const over = new AbortController();
  clock.wait(ms, ended.signal).then(
    () => over.abort(new DOMException(`There was no result within ${ms} ms.`, "TimeoutError")),
    () => {}, // cleared
  );
  return {
    signal: outer === undefined ? over.signal : AbortSignal.any([outer, over.signal]),
    get isOver() {
      return over.signal.aborted && outer?.aborted !== true;
    },
    clear: () => ended.abort(),
  };
}

/** Resolves and rejects as `work` does; once the signal aborts, rejects with its reason. The work continues. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
