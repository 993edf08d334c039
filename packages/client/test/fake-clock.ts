import { setImmediate } from "node:timers/promises";
import type { ClientClock } from "@esim-webhooks/client";

export interface FakeClock extends ClientClock {
  /** Lets time pass from wait to wait, as long as the work is not done. */
  run<T>(work: Promise<T>): Promise<T>;
  /** How many waits have not ended. */
  readonly waiting: number;
}

/** A clock whose time passes only while everybody waits for it. */
export function fakeClock(startAt = 1_700_000_000_000): FakeClock {
  let time = startAt;
  const waits = new Map<object, { readonly at: number; readonly wake: () => void }>();
  return {
    now: () => time,
    get waiting() {
      return waits.size;
    },
    wait: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) return reject(signal.reason);
        const wait = {
          at: time + ms,
          wake() {
            waits.delete(wait);
            signal.removeEventListener("abort", abort);
            resolve();
          },
        };
        const abort = () => {
          waits.delete(wait);
          reject(signal.reason);
        };
        signal.addEventListener("abort", abort, { once: true });
        waits.set(wait, wait);
      }),
    async run(work) {
      let isDone = false;
      const end = () => {
        isDone = true;
      };
      work.then(end, end);
      for (;;) {
        await setImmediate();
        if (isDone) return work;
        const next = [...waits.values()].reduce<number>((at, wait) => Math.min(at, wait.at), Infinity);
        if (next === Infinity) continue; // something real is under way
        time = Math.max(time, next);
        for (const wait of [...waits.values()]) if (wait.at <= time) wait.wake();
      }
    },
  };
}
