import assert from "node:assert/strict";
import type { GaugeCount, Inbox, Minute, MinuteCounts, RunNote } from "@esim-webhooks/core";
import {
  type InboxScenario,
  newEvents,
  type OpenInbox,
  type OpenInboxOptions,
  stepCatalog,
  stored,
  type TestEvents,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

/** Events in each state, with or without lanes: engines count the two by different indexes. */
async function countsByState(open: OpenInbox<Inbox>, options: OpenInboxOptions): Promise<void> {
  await withInbox(open, options, async (inbox) => {
    const events = newEvents();
    const { counts: before } = await inbox.gauges();
    await stored(inbox, ...[..."abcdefgh"].map((id) => events.entry(id)));
    const [leased, retried, dead, unhandled, done] = await events.take(inbox, 5);
    assert.ok(leased && retried && dead && unhandled && done);
    await inbox.settle([
      { ...retried, state: "retry", afterMs: 3_600_000, error: "no" },
      { ...dead, state: "dead", error: "no" },
      { ...unhandled, state: "unhandled" },
      { ...done, state: "done" },
    ]);
    const { counts, capped, oldestReadyMs } = await inbox.gauges();
    const added = Object.entries(counts).map(([name, count]) => [name, count - before[name as GaugeCount]]);
    assert.deepEqual(Object.fromEntries(added), {
      ready: 3,
      waiting: 1,
      blocked: 0,
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
  [
    "counts due events behind a failing, a paused or a dead one of their lane as blocked, and those behind work as due",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, -2), laneHeldByDead: true }, async (inbox) => {
        const [heads, pausable, others] = [newEvents(), newEvents(), newEvents()];
        const at = (of: TestEvents, lane: string, second: number) =>
          of.entry(`${others.source}${lane}-${second}`, { timestamp: `2026-01-01T00:00:0${second}Z` });
        const before = await inbox.gauges();
        const added = async () => {
          const { counts, blockedBy } = await inbox.gauges();
          const by = Object.entries(blockedBy).map(([name, n]) => [
            name,
            n - before.blockedBy[name as keyof typeof blockedBy],
          ]);
          return [
            counts.ready - before.counts.ready,
            counts.blocked - before.counts.blocked,
            Object.fromEntries(by),
          ];
        };
        const lanes = ["failing", "dead", "worked"];
        await stored(inbox, ...lanes.map((lane) => at(heads, lane, 1)), at(pausable, "paused", 1));
        await stored(inbox, at(others, "paused", 2)); // before the pause
        await inbox.pause({ types: [pausable.type], reason: "test", catalog: stepCatalog(pausable.type) });
        for (const lane of [...lanes, "paused"])
          await stored(inbox, at(others, lane, 3), at(others, lane, 4));
        assert.deepEqual(await added(), [9, 3, { failing: 0, paused: 3, dead: 0 }]);
        const taken = await heads.take(inbox, 3);
        const lease = (lane: string) => {
          const found = taken.find(({ id }) => id.includes(lane));
          assert.ok(found);
          return found;
        };
        await inbox.settle([
          { ...lease("failing"), state: "retry", afterMs: 3_600_000, error: "no" },
          { ...lease("dead"), state: "dead", error: "no" },
        ]);
        assert.deepEqual(await added(), [2, 7, { failing: 2, paused: 3, dead: 2 }]);
        await inbox.resume({ types: [pausable.type] });
        await inbox.purgeDead({ types: [heads.type] });
        assert.deepEqual(await added(), [8, 2, { failing: 2, paused: 0, dead: 0 }]);
      }),
  ],
  [
    "counts what is behind a failing or a paused event as blocked also while a worker has another event of the lane, whichever occurred first",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, -2) }, async (inbox) => {
        const [heads, pausable, others] = [newEvents(), newEvents(), newEvents()];
        const at = (of: TestEvents, lane: string, second: number) =>
          of.entry(`${others.source}${lane}-${second}`, { timestamp: `2026-01-01T00:00:0${second}Z` });
        const { blockedBy: before } = await inbox.gauges();
        await stored(inbox, at(heads, "failing", 2));
        const [failing] = await heads.take(inbox);
        assert.ok(failing);
        await inbox.settle([{ ...failing, state: "retry", afterMs: 3_600_000, error: "no" }]);
        await stored(inbox, at(heads, "failing", 1), at(heads, "paused", 2));
        assert.equal((await heads.take(inbox)).length, 2);
        await inbox.pause({ types: [pausable.type], reason: "test", catalog: stepCatalog(pausable.type) });
        await stored(inbox, at(others, "failing", 3), at(pausable, "paused", 1), at(others, "paused", 3));
        const { blockedBy } = await inbox.gauges();
        assert.deepEqual([blockedBy.failing - before.failing, blockedBy.paused - before.paused], [1, 1]);
        await inbox.resume({ types: [pausable.type] });
      }),
  ],
];

/** Scenarios for what an inbox knows about its load, its workers, and the runs that filled it. */
export const inboxFigures: readonly InboxScenario[] = [
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
        assert.deepEqual(await inbox.put(entries.slice(0, 1)), ["already_stored"]);
        const [done, dead, retried, untouched] = await events.take(inbox);
        assert.ok(done && dead && retried && untouched);
        await inbox.settle([
          { ...done, state: "done" },
          { ...dead, state: "dead", error: "no" },
          { ...retried, state: "waiting", afterMs: 1000, error: "retryLater" },
          { ...untouched, state: "given_back" },
          { ...done, state: "done" }, // lost
        ]);
        assert.equal((await inbox.giveUp({ source: events.source }, { reason: "test" })).events, 2);
        isKept = inbox.capabilities.durable;
      });
      if (!isKept) return;
      await withInbox(open, {}, async (inbox) => {
        const after = await inbox.minutes();
        const added = (name: keyof MinuteCounts) => sum(after, name) - sum(before, name);
        assert.deepEqual([added("stored"), added("done"), added("dead"), added("retried")], [4, 1, 3, 1]);
        for (const { at } of after) assert.equal(at.getTime() % 60_000, 0);
        const other = newEvents();
        await stored(inbox, other.entry("a"));
        assert.deepEqual(await inbox.minutes(), after);
      });
    },
  ],
];
