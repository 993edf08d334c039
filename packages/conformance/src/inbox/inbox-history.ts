import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { AttemptReport, HistoryStep, Settlement, TakenEvent } from "@esim-webhooks/core";
import { type InboxScenario, idsOf, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";

const shortLeaseMs = 100;

const report: AttemptReport = { reason: "failed", durationMs: 12.4, error: "Error: no", worker: "host:1:a" };

function failed(lease: TakenEvent, changes: Partial<AttemptReport> = {}): Settlement {
  const error = changes.error ?? report.error;
  return { ...lease, state: "retry", afterMs: 0, error, report: { ...report, ...changes } };
}

const attempt = { by: null, attempts: null };

/** An attempt as inboxes store it. */
function asStored({ endedAt, reason, durationMs, error, worker }: HistoryStep): object {
  return { at: endedAt?.getTime() ?? 0, reason, ms: durationMs, error, worker };
}

/** Scenarios for what an inbox knows about an event and its attempts. */
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
        const entry = events.entry("a", { data: { esimReference: "esim_1" } });
        await stored(inbox, entry);
        const before = await inbox.get(entry);
        assert.deepEqual([before?.takenAt, before?.settledAt], [null, null]);
        await pause(30);
        const first = await takenOne(events, inbox);
        assert.ok(first.waitMs >= 20, `due for ${first.waitMs} ms`);
        const takenAt = (await inbox.get(entry))?.takenAt;
        assert.ok(takenAt);
        await inbox.settle([{ ...first, state: "retry", afterMs: 0, error: "no" }]);
        const second = await events.takeInTime(inbox);
        assert.ok(second.waitMs >= 0);
        await inbox.settle([{ ...second, state: "done" }]);
        const after = await inbox.get(entry);
        assert.deepEqual(after?.takenAt, takenAt);
        assert.ok(after?.settledAt && after.settledAt >= takenAt);
        const { rows } = await inbox.list({ source: events.source });
        assert.deepEqual(
          rows.map(({ settledAt, subject }) => ({ settledAt, subject })),
          [{ settledAt: after.settledAt, subject: "esim_1" }],
        );
      }),
  ],
  [
    "lists when each dead event died, which shows the newest error: not that of the event received last",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const received = (id: string, hour: number) =>
          events.entry(id, { receivedAt: new Date(Date.UTC(2026, 0, 1, hour)) });
        await stored(inbox, received("early", 1), received("late", 2));
        const leases = await events.take(inbox);
        for (const id of ["late", "early"]) {
          const lease = leases.find((each) => each.id === id);
          assert.ok(lease);
          await inbox.settle([{ ...lease, state: "dead", error: "Error: no CRM" }]);
          await pause(5);
        }
        const { rows } = await inbox.list({ source: events.source, state: "dead" });
        assert.deepEqual(idsOf(rows), ["late", "early"]);
        const died = rows.map(({ settledAt }) => settledAt?.getTime() ?? 0);
        assert.ok((died[1] ?? 0) > (died[0] ?? 0), `died at ${died}`);
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
              ...attempt,
            })),
            {
              ...attempt,
              ...{ reason: "timed_out", durationMs: 12, error: "TimeoutError: too long", worker: "host:1:a" },
            },
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
          [{ reason: "lease_ended", durationMs: null, error: null, worker: null, ...attempt }],
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
    "keeps since when an event was put off by its handlers, if its worker puts it off",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const putOff = { state: "given_back", afterMs: 30, error: "still runs" } as const;
        await inbox.settle([{ ...(await takenOne(events, inbox)), ...putOff }]);
        const first = await events.takeInTime(inbox);
        assert.deepEqual([first.attempt, first.waitedMs], [1, 0]);
        await inbox.settle([{ ...first, state: "waiting", afterMs: 30, error: "retryLater" }]);
        await inbox.settle([{ ...(await events.takeInTime(inbox)), ...putOff }]);
        const last = await events.takeInTime(inbox);
        assert.deepEqual([last.attempt, last.tries], [2, 1]);
        assert.ok(last.waitedMs >= 50, `put off for ${last.waitedMs} ms`);
      }),
  ],
];
