import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type {
  AttemptReport,
  FailedAttempt,
  GaugeCount,
  Inbox,
  Minute,
  MinuteCounts,
  RunNote,
  Settlement,
  TakenEvent,
} from "@esim-webhooks/core";
import {
  type InboxScenario,
  newEvents,
  type OpenInbox,
  type OpenInboxOptions,
  stepCatalog,
  stored,
  takenOne,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

const shortLeaseMs = 100;

const report: AttemptReport = { reason: "failed", durationMs: 12.4, error: "Error: no", worker: "host:1:a" };

function failed(lease: TakenEvent, changes: Partial<AttemptReport> = {}): Settlement {
  const error = changes.error ?? report.error;
  return { ...lease, state: "ready", afterMs: 0, error, report: { ...report, ...changes } };
}

/** An attempt as inboxes store it. */
function asStored({ endedAt, reason, durationMs, error, worker }: FailedAttempt): object {
  return { at: endedAt?.getTime() ?? 0, reason, ms: durationMs, error, worker };
}

/** Events in each state, with or without lanes: engines count the two by different indexes. */
async function countsByState(open: OpenInbox<Inbox>, options: OpenInboxOptions): Promise<void> {
  await withInbox(open, options, async (inbox) => {
    const events = newEvents();
    const { counts: before } = await inbox.gauges();
    await stored(inbox, ...[..."abcdefgh"].map((id) => events.entry(id)));
    const [leased, retried, dead, unhandled, done] = await events.take(inbox, 5);
    assert.ok(leased && retried && dead && unhandled && done);
    await inbox.settle([
      { ...retried, state: "ready", afterMs: 3_600_000, error: "no" },
      { ...dead, state: "dead", error: "no" },
      { ...unhandled, state: "unhandled" },
      { ...done, state: "done" },
    ]);
    const { counts, capped, oldestReadyMs } = await inbox.gauges();
    const added = Object.entries(counts).map(([name, count]) => [name, count - before[name as GaugeCount]]);
    assert.deepEqual(Object.fromEntries(added), {
      ready: 3,
      waiting: 1,
      paused: 0,
      leased: 1,
      unhandled: 1,
      dead: 1,
    });
    assert.deepEqual(capped, []);
    assert.ok(oldestReadyMs !== null && oldestReadyMs >= 0);
  });
}

/** The same for an inbox with lanes. */
export const gaugesInLanes: readonly InboxScenario[] = [
  [
    "counts events in lanes by state, as an operator's gauges",
    ["writer", "queue", "admin"],
    (open) => countsByState(open, { lane: ({ id }) => id }),
  ],
];

/** Scenarios for what an inbox knows about the attempts of an event, about its load, and about its workers. */
export const inboxHistory: readonly InboxScenario[] = [
  [
    "keeps the subject, the key and the trace of an event, and returns the trace to the worker that takes it",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        const data = { esimReference: "esim_1" };
        await stored(
          inbox,
          events.entry("a", { key: "key:1a2b3c4d", trace, data, receivedAt: new Date(0) }),
          events.entry("b", { data: { esimReference: "x".repeat(201) } }),
        );
        const a = await inbox.get({ source: events.source, id: "a" });
        assert.deepEqual([a?.subject, a?.key, a?.trace], ["esim_1", "key:1a2b3c4d", trace]);
        const b = await inbox.get({ source: events.source, id: "b" });
        assert.deepEqual([b?.subject, b?.key, b?.trace], [null, null, null]);
        const taken = await events.take(inbox);
        assert.deepEqual(Object.fromEntries(taken.map((one) => [one.id, one.trace])), { a: trace, b: null });
      }),
  ],
  [
    "notes when an event is first taken and when it is settled, and how long it was due before each take",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const before = await inbox.get(entry);
        assert.deepEqual([before?.takenAt, before?.settledAt], [null, null]);
        await pause(30);
        const first = await takenOne(events, inbox);
        assert.ok(first.dueForMs >= 20, `due for ${first.dueForMs} ms`);
        const takenAt = (await inbox.get(entry))?.takenAt;
        assert.ok(takenAt);
        await inbox.settle([{ ...first, state: "ready", afterMs: 0, error: "no" }]);
        const second = await events.takeInTime(inbox);
        assert.ok(second.dueForMs >= 0);
        await inbox.settle([{ ...second, state: "done" }]);
        const after = await inbox.get(entry);
        assert.deepEqual(after?.takenAt, takenAt);
        assert.ok(after?.settledAt && after.settledAt >= takenAt);
      }),
  ],
  [
    "keeps the last ten failed attempts of an event, with when, why, for how long and in which worker",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        for (let attempt = 1; attempt <= 11; attempt += 1) {
          const lease = await events.takeInTime(inbox);
          await inbox.settle([failed(lease, { error: `Error: no ${attempt}` })]);
        }
        const last = await events.takeInTime(inbox);
        const timedOut = { ...report, reason: "timed_out", error: "TimeoutError: too long" } as const;
        await inbox.settle([{ ...last, state: "dead", error: "TimeoutError: too long", report: timedOut }]);
        const { history = [], takenAt, settledAt } = (await inbox.get(entry)) ?? {};
        assert.deepEqual(
          history.map(({ endedAt: _, ...attempt }) => attempt),
          [
            ...Array.from({ length: 9 }, (_, n) => ({
              reason: "failed",
              durationMs: 12,
              error: `Error: no ${n + 3}`,
              worker: "host:1:a",
            })),
            { reason: "timed_out", durationMs: 12, error: "TimeoutError: too long", worker: "host:1:a" },
          ],
        );
        assert.ok(takenAt && settledAt);
        for (const { endedAt } of history)
          assert.ok(endedAt !== null && endedAt >= takenAt && endedAt <= settledAt);
        await inbox.redrive({ source: events.source });
        const redriven = await inbox.get(entry);
        assert.equal(redriven?.history.length, 10);
        assert.equal(redriven?.settledAt, null);
      }),
  ],
  [
    "keeps a history of any errors below 8 KiB, without secrets and personal data",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const errors = [
          "Error: no SIM 8932042000001234567 at postgres://me:hunter2@db",
          "x".repeat(10_000),
          "\u{1F4F6}".repeat(400),
          `"\\\n\0\ud800`.repeat(200),
          "",
        ];
        for (const error of [...errors, ...errors])
          await inbox.settle([failed(await events.takeInTime(inbox), { error })]);
        const { history = [] } = (await inbox.get(entry)) ?? {};
        assert.equal(history.length, 10);
        assert.equal(history[0]?.error, "Error: no SIM ••• at postgres://me:•••@db");
        assert.equal(history[1]?.error, "x".repeat(500));
        assert.ok(Buffer.byteLength(JSON.stringify(history.map(asStored))) <= 8192);
      }),
  ],
  [
    "notes in the history of an event that its lease has ended without a settlement",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        await takenOne(events, inbox, shortLeaseMs);
        const suspect = await events.takeInTime(inbox);
        const { history = [] } = (await inbox.get(entry)) ?? {};
        assert.deepEqual(
          history.map(({ endedAt: _, ...attempt }) => attempt),
          [{ reason: "lease_ended", durationMs: null, error: null, worker: null }],
        );
        await inbox.settle([{ ...suspect, state: "done" }]);
        assert.equal((await inbox.get(entry))?.history.length, 1);
      }),
  ],
  [
    "begins a new history when an import runs a done event again",
    ["writer", "queue", "admin", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a", { key: "key:1a2b3c4d" });
        await stored(inbox, entry);
        await inbox.settle([failed(await takenOne(events, inbox))]);
        await inbox.settle([{ ...(await events.takeInTime(inbox)), state: "done" }]);
        const again = events.entry("a", {
          replay: { run: "again", rebuilt: false },
          data: { esimReference: "e" },
        });
        assert.deepEqual(await inbox.rerun([again]), [true]);
        const { history, takenAt, settledAt, key, subject } = (await inbox.get(entry)) ?? {};
        assert.deepEqual(
          { history, takenAt, settledAt, key, subject },
          {
            history: [],
            takenAt: null,
            settledAt: null,
            key: null,
            subject: "e",
          },
        );
      }),
  ],
  [
    "counts events by state, as an operator's gauges",
    ["writer", "queue", "admin"],
    (open) => countsByState(open, {}),
  ],
  [
    "states the time of the last delivery in its gauges, even if events were imported since, or the event was deleted",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { receivedAt } = events.entry("a");
        await stored(inbox, events.entry("a", { receivedAt }));
        const imported = new Date("2999-01-01T00:00:00Z");
        await stored(inbox, events.entry("b", { receivedAt: imported, replay: { run: "a", rebuilt: true } }));
        let last = null;
        while (last === null) ({ lastReceivedAt: last } = await inbox.gauges());
        assert.ok(last < imported);
        assert.ok(receivedAt.getTime() - last.getTime() < 60_000);
      }),
  ],
  [
    "lists the workers that have reported, each once, with what it reported last",
    ["queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        if (inbox.report === undefined) return;
        const { type } = newEvents();
        const worker = { id: `host:1:${type}`, host: "host", pid: 1, version: "0.1.0", concurrency: 20 };
        await inbox.report({ ...worker, running: 0, startedMsAgo: 0, sinceLastTakeMs: null });
        await inbox.report({ ...worker, running: 3, startedMsAgo: 60_000, sinceLastTakeMs: 5000 });
        const [listed, ...others] = (await inbox.workers()).filter(({ id }) => id === worker.id);
        assert.deepEqual(others, []);
        assert.ok(listed?.lastTakeAt);
        const { startedAt, lastTakeAt, seenAt, ...rest } = listed;
        assert.deepEqual(rest, { ...worker, running: 3 });
        assert.ok(Math.abs(seenAt.getTime() - startedAt.getTime() - 60_000) < 10);
        assert.ok(Math.abs(seenAt.getTime() - lastTakeAt.getTime() - 5000) < 10);
      }),
  ],
  [
    "lists a worker from its start, and its failed attempts name it",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        if (inbox.report === undefined) return;
        const events = newEvents();
        const entry = events.entry("a", { data: { step: "first" } });
        await stored(inbox, entry);
        const queue = { ...takingOnly(inbox, [events.type]), report: inbox.report.bind(inbox) };
        const handlers = {
          [events.type]: () => {
            throw new TypeError("no");
          },
        };
        const known = new Set((await inbox.workers()).map(({ id }) => id));
        let ids: string[] = [];
        await worked(
          queue,
          handlers,
          { catalog: stepCatalog(events.type), maxAttempts: 1, concurrency: 7 },
          async () => {
            const workers = (await inbox.workers()).filter(({ id }) => !known.has(id));
            ids = workers.filter(({ concurrency }) => concurrency === 7).map(({ id }) => id);
            return ids.length > 0 && (await inbox.get(entry))?.state === "dead";
          },
        );
        const { history = [] } = (await inbox.get(entry)) ?? {};
        assert.deepEqual(
          history.map(({ reason, error }) => ({ reason, error })),
          [{ reason: "failed", error: "TypeError: no" }],
        );
        assert.ok(ids.includes(history[0]?.worker ?? ""));
        assert.ok((history[0]?.durationMs ?? -1) >= 0);
      }),
  ],
  [
    "keeps since when an event was put off by its handlers, if its worker puts it off",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const putOff = { state: "waiting", afterMs: 30, error: "still runs", isPutOff: true } as const;
        await inbox.settle([{ ...(await takenOne(events, inbox)), ...putOff }]);
        const first = await events.takeInTime(inbox);
        assert.deepEqual([first.attempt, first.waitedMs], [1, 0]);
        await inbox.settle([{ ...first, state: "waiting", afterMs: 30, error: "retryLater" }]);
        await inbox.settle([{ ...(await events.takeInTime(inbox)), ...putOff }]);
        const last = await events.takeInTime(inbox);
        assert.equal(last.attempt, 1);
        assert.ok(last.waitedMs >= 50, `put off for ${last.waitedMs} ms`);
      }),
  ],
  [
    "keeps the last fifty imports and the last fifty passes, the last one first, as they were noted",
    ["admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { source } = newEvents();
        const note = (kind: RunNote["kind"], n: number): RunNote => ({
          kind,
          run: `run-${n}`,
          source,
          startedAt: new Date(Date.UTC(2026, 0, 1, 0, 0, n)),
          endedAt: new Date(Date.UTC(2026, 0, 1, 0, 1, n)),
          outcome: "complete",
          ledger: { read: n, stored: 1 },
        });
        await inbox.noteRun(note("import", 0));
        for (let n = 1; n <= 51; n += 1) await inbox.noteRun(note("reconcile", n));
        const runs = await inbox.runs();
        const expected = Array.from({ length: 50 }, (_, n) => note("reconcile", 51 - n));
        assert.deepEqual(
          runs.filter(({ kind }) => kind === "reconcile"),
          expected,
        );
        assert.deepEqual(runs.filter(({ kind }) => kind === "import").slice(0, 1), [note("import", 0)]);
      }),
  ],
  [
    "counts what happens in each minute, over all who use the inbox, if it is asked to",
    ["writer", "queue", "admin"],
    async (open) => {
      const events = newEvents();
      const sum = (minutes: readonly Minute[], name: keyof MinuteCounts) =>
        minutes.reduce((total, minute) => total + minute[name], 0);
      let before: readonly Minute[] = [];
      let isKept = false;
      await withInbox(open, { minuteCounts: true }, async (inbox) => {
        before = await inbox.minutes();
        const entries = ["a", "b", "c", "d"].map((id) => events.entry(id));
        await stored(inbox, ...entries);
        assert.deepEqual(await inbox.put(entries.slice(0, 1)), ["duplicate"]);
        const [done, dead, retried, untouched] = await events.take(inbox);
        assert.ok(done && dead && retried && untouched);
        await inbox.settle([
          { ...done, state: "done" },
          { ...dead, state: "dead", error: "no" },
          { ...retried, state: "waiting", afterMs: 1000, error: "retryLater" },
          { ...untouched, state: "untouched" },
          { ...done, state: "done" }, // lost
        ]);
        isKept = inbox.capabilities.durable;
      });
      if (!isKept) return;
      await withInbox(open, {}, async (inbox) => {
        const after = await inbox.minutes();
        const added = (name: keyof MinuteCounts) => sum(after, name) - sum(before, name);
        assert.deepEqual([added("stored"), added("done"), added("dead"), added("retried")], [4, 1, 1, 1]);
        for (const { at } of after) assert.equal(at.getTime() % 60_000, 0);
        const other = newEvents();
        await stored(inbox, other.entry("a"));
        assert.deepEqual(await inbox.minutes(), after);
      });
    },
  ],
];
