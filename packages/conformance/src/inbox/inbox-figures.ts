import assert from "node:assert/strict";
import type { Minute, MinuteCounts, RunNote } from "@esim-webhooks/core";
import {
  type InboxScenario,
  newEvents,
  stepCatalog,
  stored,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

/** Scenarios for what an inbox knows about its minutes, its workers, and the runs that filled it. */
export const inboxFigures: readonly InboxScenario[] = [
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
