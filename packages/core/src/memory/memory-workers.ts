import type { Clock } from "../base/clock.ts";
import type { WorkerPresence } from "../store/inbox-figures.ts";
import type { WorkerReport } from "../store/inbox-queue.ts";

/** For authors of inboxes: how long after its last report `workers()` still lists a worker, in ms. Workers report every 10 s. */
export const workerGoneMs = 30_000;

/** The workers of a memory inbox. */
export interface MemoryWorkers {
  report(worker: WorkerReport): void;
  list(): readonly WorkerPresence[];
}

export function createMemoryWorkers(clock: Clock): MemoryWorkers {
  const workers = new Map<string, WorkerPresence>();

  function forgetGone(now: number): void {
    for (const { id, seenAt } of workers.values())
      if (now - seenAt.getTime() >= workerGoneMs) workers.delete(id);
  }

  return {
    report({ startedMsAgo, sinceLastTakeMs, ...worker }) {
      const now = clock.now();
      workers.set(worker.id, {
        ...worker,
        startedAt: new Date(now - startedMsAgo),
        lastTakeAt: sinceLastTakeMs === null ? null : new Date(now - sinceLastTakeMs),
        seenAt: new Date(now),
      });
    },
    list() {
      forgetGone(clock.now());
      return [...workers.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}
