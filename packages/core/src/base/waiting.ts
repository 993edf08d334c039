import type { Awaitable } from "./awaitable.ts";

/** Whether a value is a promise, or anything else that `await` would wait for. */
export function isPromise<T>(given: Awaitable<T>): given is Promise<T> {
  return typeof (given as { then?: unknown } | null | undefined)?.then === "function";
}

/** Calls `next` with the value: synchronously, or when its promise resolves. */
export function andThen<T, Result>(
  given: Awaitable<T>,
  next: (value: T) => Awaitable<Result>,
): Awaitable<Result> {
  return isPromise(given) ? Promise.resolve(given).then(next) : next(given);
}

/** Calls `done` with the result of `work`, or `failed` with what it threw: synchronously, unless `work` returns a promise. */
export function tryThen<T, Result>(
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

/** The time by which work must be done. No timer runs until `before` is called. */
export interface Deadline {
  /** The controller of the work. The deadline aborts it with a `TimeoutError`; the work may abort it earlier, for example when its claim is lost. */
  readonly controller: AbortController;
  /** The signal of `controller`. */
  readonly signal: AbortSignal;
  /** Starts the timer. Resolves to the result of the work, or to undefined at the deadline. Work that is in time stops the timer. */
  before<T>(work: Promise<T>): Promise<T | undefined>;
}

/**
 * Creates a deadline that comes `ms` after `startedAt`, a time of `performance.now()`, or less than a second late. Its timer starts in
 * `before`, so synchronous work needs no timer. Its controller is made when it is first read.
 */
export function createDeadline(ms: number, startedAt: number = performance.now()): Deadline {
  return new LazyDeadline(ms, startedAt);
}

class LazyDeadline implements Deadline {
  readonly #ms: number;
  readonly #startedAt: number;
  #controller: AbortController | undefined;

  constructor(ms: number, startedAt: number) {
    this.#ms = ms;
    this.#startedAt = startedAt;
  }

  get controller(): AbortController {
    this.#controller ??= new AbortController();
    return this.#controller;
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  before<T>(work: Promise<T>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      // subtracts the time that has passed, in whole seconds: these are 0 unless something blocked the event loop, so nearly all
      // timers have the same duration, and Node.js keeps those in one list
      const spentMs = Math.floor((performance.now() - this.#startedAt) / 1000) * 1000;
      const timer = setTimeout(
        () => {
          resolve(undefined);
          this.controller.abort(
            new DOMException(`There was no result within ${this.#ms} ms.`, "TimeoutError"),
          );
        },
        Math.max(0, this.#ms - spentMs),
      );
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
    });
  }
}

/** Resolves to whether the work resolved within `ms`, and before the signal aborted. Rejects if the work does. */
export async function within(ms: number, work: Promise<unknown>, signal?: AbortSignal): Promise<boolean> {
  const { promise: givenUp, resolve } = Promise.withResolvers<boolean>();
  const giveUp = () => resolve(false);
  const timer = setTimeout(giveUp, signal?.aborted ? 0 : Math.max(0, ms));
  signal?.addEventListener("abort", giveUp);
  const isEnded = await Promise.race([work.then(() => true), givenUp]);
  clearTimeout(timer);
  signal?.removeEventListener("abort", giveUp);
  return isEnded;
}

/** Lets a loop sleep until there is something to do. Waking it twice before it sleeps counts once. */
export interface Wakeup {
  wake(): void;
  /** Resolves when `wake` is called, or was called since the last wait; else after `ms`, or when the signal aborts. */
  wait(ms?: number): Promise<void>;
}

export function createWakeup(signal: AbortSignal): Wakeup {
  let isWoken = false;
  let resume: (() => void) | undefined;
  return {
    wake() {
      isWoken = true;
      resume?.();
      resume = undefined; // Node.js is slow to resolve a promise again
    },
    async wait(ms) {
      if (!isWoken && !signal.aborted) {
        const { promise, resolve } = Promise.withResolvers<void>();
        const now = () => resolve();
        resume = now;
        signal.addEventListener("abort", now);
        const timer = ms === undefined ? undefined : setTimeout(now, ms);
        await promise;
        clearTimeout(timer);
        signal.removeEventListener("abort", now);
        resume = undefined;
      }
      isWoken = false;
    },
  };
}

/** Lets the process end while a timer runs. Not all runtimes have timers that keep a process alive: those of workerd are numbers. */
export function unref(timer: unknown): void {
  (timer as { unref?(): void }).unref?.();
}

/** Resolves after `ms`. Does not keep the process alive. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, ms)));
}
