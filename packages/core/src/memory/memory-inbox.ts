import * as z from "zod/mini";
import { type Clock, monotonicClock } from "../base/clock.ts";
import { WebhookError } from "../base/errors.ts";
import { type OptionsShape, parseOptions, withMethods } from "../base/options.ts";
import { safeListener } from "../base/safe-listener.ts";
import { publishChanges } from "../store/admin-notices.ts";
import { readGiveUp } from "../store/give-up.ts";
import type { Inbox } from "../store/inbox.ts";
import { checkEntry, checkRerun, type InboxEntry } from "../store/inbox-entry.ts";
import {
  type InboxOptions,
  type InboxSettings,
  inboxShape,
  laneReader,
  subjectReader,
} from "../store/inbox-options.ts";
import type { PutResult } from "../store/inbox-writer.ts";
import { readPauses } from "../store/pause.ts";
import { type StoreOptions, storeShape, warnOfShortRetention } from "../store/store-options.ts";
import { createMemoryAdmin } from "./memory-admin.ts";
import { createMemoryNotes } from "./memory-notes.ts";
import { createMemoryPauses } from "./memory-pauses.ts";
import { createMemoryQueue } from "./memory-queue.ts";
import { createMemoryTable, hashOf, type MemoryRow, readyRow } from "./memory-table.ts";
import { createMemoryWorkers } from "./memory-workers.ts";

export interface MemoryInboxOptions extends InboxOptions, StoreOptions {
  /** Returns the time, for tests. Default: a monotonic clock, which does not jump when the machine's time is set. */
  clock?: Clock;
}

const shape: OptionsShape<InboxSettings & Required<StoreOptions> & { clock: Clock }> = {
  ...inboxShape,
  ...storeShape,
  clock: z._default(withMethods<Clock>("now"), monotonicClock),
};

const operatorLimit = 1000;
const pageLimit = 50;

/**
 * An inbox in this process's memory, with all roles: for tests and experiments. Its events are lost with the process.
 * Throws `invalid_option`; operations reject with `store_unavailable` once it is closed.
 */
export function memoryInbox(options: MemoryInboxOptions = {}): Inbox {
  const settings = parseOptions("memoryInbox", shape, options);
  warnOfShortRetention("memoryInbox", settings);
  const { clock } = settings;
  const laneOf = laneReader(settings, settings.logger);
  const subjectOf = subjectReader(settings, settings.logger);
  const newRow = (entry: InboxEntry) =>
    readyRow(entry, { lane: laneOf(entry), subject: subjectOf(entry), now: clock.now() });
  const table = createMemoryTable();
  const pauses = createMemoryPauses(clock);
  const queue = createMemoryQueue(table, pauses, settings);
  const admin = createMemoryAdmin(table, pauses, clock, settings.retentionMs, settings.laneHeldByDead);
  const workers = createMemoryWorkers(clock);
  const notes = createMemoryNotes(clock);
  const counter = settings.minuteCounts ? notes.counter : undefined;
  const listeners = new Set<() => void>();
  let isClosed = false;

  function putOne(entry: InboxEntry): PutResult {
    const present = table.get(entry);
    if (present === undefined) {
      table.write(newRow(entry));
      return "stored";
    }
    if (!isConflict(entry, present)) return "already_stored";
    table.write({ ...present, conflicts: present.conflicts + 1 });
    return "conflict";
  }

  function rerunOne(entry: InboxEntry): boolean {
    const present = table.get(entry);
    const run = entry.replay?.run;
    if (present?.state !== "done" || run === undefined) return false;
    if (present.erasedAt !== null) return false;
    const { replay, attempts, conflicts } = present;
    const runs = replay === null ? present.runs : [...present.runs, replay.run];
    if (runs.includes(run)) return false;
    table.write({ ...newRow(entry), attempts, conflicts, runs });
    return true;
  }

  function hint(): void {
    for (const listener of listeners) listener();
  }

  /** Answers asynchronously, like a store on a server, and rejects once the inbox is closed. */
  async function ask<Answer>(work: () => Answer): Promise<Answer> {
    if (!isClosed) return work();
    throw new WebhookError(
      "store_unavailable",
      "The memoryInbox was closed.",
      "Close it after its last user.",
    );
  }

  return {
    capabilities: {
      roles: ["writer", "queue", "admin", "rerun"],
      durable: false,
      retentionMs: settings.retentionMs,
      multiProcess: false,
      transactional: false,
      ordered: settings.lane !== undefined,
    },
    ready: () => ask(() => {}),
    now: () => ask(() => new Date(clock.now())),
    sources: () => ask(() => [...new Set([...table.all()].map(({ source }) => source))]),
    async close() {
      await counter?.close();
      isClosed = true;
    },
    put: (entries) =>
      ask(() => {
        entries.forEach(checkEntry); // before any is stored: an invalid entry stores none
        const results = entries.map(putOne);
        counter?.put(results);
        if (results.includes("stored")) hint();
        return results;
      }),
    rerun: (entries) =>
      ask(() => {
        entries.forEach(checkRerun);
        const results = entries.map(rerunOne);
        if (results.includes(true)) hint();
        return results;
      }),
    take: (options) => ask(() => queue.take(options)),
    extend: (leases, leaseMs) => ask(() => queue.extend(leases, leaseMs)),
    settle: (settlements) =>
      ask(() => {
        const held = queue.settle(settlements);
        counter?.settled(settlements, held);
        return held;
      }),
    onHint(listener) {
      const own = safeListener(listener);
      listeners.add(own);
      return () => listeners.delete(own);
    },
    stats: () => ask(admin.stats),
    gauges: () => ask(admin.gauges),
    report: (worker) => ask(() => workers.report(worker)),
    workers: () => ask(workers.list),
    noteRun: (note) => ask(() => notes.noteRun(note)),
    runs: () => ask(notes.runs),
    minutes: () => ask(notes.minutes),
    count: (filter = {}, most = Number.POSITIVE_INFINITY) => ask(() => admin.count(filter, most)),
    list: (filter = {}, { limit = pageLimit, cursor } = {}) => ask(() => admin.list(filter, limit, cursor)),
    get: (key) => ask(() => admin.get(key)),
    paused: () => ask(pauses.list),
    ...publishChanges({
      redrive: (filter = {}, limit = operatorLimit, by) =>
        ask(() => {
          const redriven = admin.redrive(filter, limit, by);
          if (redriven > 0) hint();
          return redriven;
        }),
      giveUp: (filter, options, limit = operatorLimit) =>
        ask(() => {
          const givenUp = admin.giveUp(filter, readGiveUp(options), limit);
          counter?.gaveUp(givenUp.events);
          if (givenUp.events > 0) hint(); // their lanes are free
          return givenUp;
        }),
      purge: (limit = operatorLimit) => ask(() => queue.purge(limit)),
      purgeDead: (filter, limit = operatorLimit) => ask(() => admin.purgeDead(filter, limit)),
      pause: (options) => ask(() => pauses.add(readPauses(options))),
      resume: ({ types } = {}) =>
        ask(() => {
          const ended = pauses.end(types);
          if (ended.length > 0) hint();
          return ended;
        }),
      erase: (subject, limit = operatorLimit) => ask(() => admin.erase(subject, limit)),
    }),
  };
}

/** Whether the bodies differ. Compares them only if both are signed bytes or both were rebuilt: a dump formats JSON its own way. */
function isConflict({ body, replay }: InboxEntry, present: MemoryRow): boolean {
  const isComparable = (replay?.rebuilt ?? false) === (present.replay?.rebuilt ?? false);
  return isComparable && hashOf(body) !== present.bodyHash;
}
