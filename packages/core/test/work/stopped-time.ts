import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { onTestFinished, vi } from "vitest";

const realImmediate = setImmediate;

/** Stops timers and `performance.now()` until the test ends: they move only in `pass`. */
export function stopTime(): void {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance"],
  });
  const paused = vi.spyOn(timers, "setTimeout").mockImplementation(pause as typeof timers.setTimeout);
  syncBuiltinESMExports();
  onTestFinished(() => {
    paused.mockRestore();
    syncBuiltinESMExports();
    vi.useRealTimers();
  });
}

function pause(ms?: number, value?: unknown, { signal }: { signal?: AbortSignal } = {}): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(value), ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

/** Moves `performance.now()` by `ms` without firing a timer, as when the event loop is blocked. Only while the time is stopped. */
export function block(ms: number): void {
  const now = performance.now.bind(performance);
  const moved = vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
  onTestFinished(() => moved.mockRestore());
}

/** Moves the time until the work has ended. Resolves to its result. */
export async function passUntil<Result>(work: Promise<Result>): Promise<Result> {
  let isEnded = false;
  const ending = work.finally(() => {
    isEnded = true;
  });
  while (!isEnded) await pass(5);
  return ending;
}

/** Moves the time by `ms`, in steps of at most 100 ms. After each, all work is done that waits for no timer. */
export async function pass(ms: number): Promise<void> {
  const until = performance.now() + ms;
  for (;;) {
    for (let tick = 0; tick < 4; tick += 1) await new Promise((resolve) => realImmediate(resolve));
    const leftMs = until - performance.now();
    if (leftMs <= 0) return;
    vi.advanceTimersByTime(Math.min(100, leftMs));
  }
}
