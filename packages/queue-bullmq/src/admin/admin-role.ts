import type { InboxAdmin, InboxRole } from "@esim-webhooks/core";
import { publishChanges, readPauses } from "@esim-webhooks/core/engine";
import { refuseTypes } from "@esim-webhooks/core/internal";
import type { Minutes } from "../redis/minutes.ts";
import { createRunNotes } from "../redis/run-notes.ts";
import { type AdminOptions, createAdmin, operatorLimit } from "./admin.ts";
import { createErase } from "./erase.ts";
import { refuseGiveUp } from "./filter.ts";

/** Creates the operations for operators. Each call of Redis goes through `run`: after the checks of the set-up, within the time limit. */
export function createAdminRole(
  options: AdminOptions,
  minutes: Minutes,
  run: <Result>(operation: () => Promise<Result>) => Promise<Result>,
): Omit<InboxAdmin, keyof InboxRole> {
  const { queue, scripts, keyStart, pauses, subjectOf } = options;
  const admin = createAdmin(options);
  const erase = createErase(queue, scripts, keyStart, subjectOf);
  const runs = createRunNotes(scripts, keyStart);
  const { purge: _, ...changes } = publishChanges({
    redrive: (filter, limit, by) => run(() => admin.redrive(filter, limit, by)),
    giveUp: async () => refuseGiveUp(),
    purgeDead: (filter, limit) => run(() => admin.purgeDead(filter, limit)),
    async pause(pauseOptions) {
      const [pause] = readPauses(pauseOptions);
      refuseTypes("pause", pauseOptions.types);
      if (pause !== undefined) await run(() => pauses.pause(pause));
    },
    async resume({ types } = {}) {
      refuseTypes("resume", types);
      const ended = await run(() => pauses.resume());
      return ended === null ? [] : [ended];
    },
    erase: (subject, limit = operatorLimit) => erase(subject, limit, run),
    purge: async () => 0, // BullMQ removes done jobs
  });
  return {
    stats: () => run(() => admin.stats()),
    gauges: () => run(() => admin.gauges()),
    workers: () => run(() => admin.workers()),
    noteRun: (note) => run(() => runs.note(note)),
    runs: () => run(() => runs.list()),
    minutes: () => run(() => minutes.list()),
    count: (filter, most) => run(() => admin.count(filter, most)),
    list: (filter, page) => run(() => admin.list(filter, page)),
    get: (key) => run(() => admin.get(key)),
    async paused() {
      const pause = await run(() => pauses.current());
      return pause === null ? [] : [pause];
    },
    ...changes,
  };
}
