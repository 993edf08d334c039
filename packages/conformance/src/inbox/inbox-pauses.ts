import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox, TakenEvent } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  stepCatalog,
  stored,
  type TestEvents,
  takenOne,
  takingOnly,
  withInbox,
  worked,
} from "./inbox-context.ts";

const reason = "the CRM is down";
const hourMs = 3_600_000;

/** Events of a type, and the pause of that type. */
function pausable(
  inbox: Inbox,
): TestEvents & { pauseAll(until?: Date): Promise<void>; resumeAll(): Promise<unknown> } {
  const events = newEvents();
  const types = [events.type];
  return {
    ...events,
    pauseAll: (until) =>
      inbox.pause({ types, reason, catalog: stepCatalog(events.type), ...(until && { until }) }),
    resumeAll: () => inbox.resume({ types }),
  };
}

/** Scenarios for pauses of the whole inbox. */
export const inboxPauses: readonly InboxScenario[] = [
  [
    "takes nothing while all types are paused, continues to store, and spends no attempts",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        await inbox.pause({ reason });
        try {
          await stored(inbox, events.entry("b"));
          assert.deepEqual(await events.take(inbox), []);
          assert.equal((await inbox.get(events.entry("a")))?.attempts, 0);
        } finally {
          await inbox.resume();
        }
        const taken = await events.take(inbox);
        assert.deepEqual(idsOf(taken).sort(), ["a", "b"]);
        assert.deepEqual(
          taken.map(({ attempt }) => attempt),
          [1, 1],
        );
      }),
  ],
  [
    "states what is paused: since when, until when, by whom and why; and resolves to it when the pause is ended",
    ["admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const until = new Date(Date.now() + hourMs);
        await inbox.pause({ reason: "first" });
        await inbox.pause({ reason: `  ${reason} `, until, by: "ops@example.com" });
        const [paused, ...others] = await inbox.paused();
        const ended = await inbox.resume();
        assert.deepEqual(others, []);
        assert.ok(paused);
        const { since, ...rest } = paused;
        assert.deepEqual(rest, { type: null, reason, until, by: "ops@example.com" });
        assert.ok(Math.abs(since.getTime() - Date.now()) < hourMs);
        assert.deepEqual(ended, [paused]);
        assert.deepEqual(await inbox.paused(), []);
        assert.deepEqual(await inbox.resume(), []);
      }),
  ],
  [
    "ends a pause by itself at its `until`",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const until = new Date(Date.now() + 400);
        await inbox.pause({ reason, until });
        await stored(inbox, events.entry("a"));
        await events.takeInTime(inbox);
        assert.ok(Date.now() >= until.getTime() - 50);
        assert.deepEqual(await inbox.paused(), []);
      }),
  ],
  [
    "refuses a pause without a reason, until a time that has passed, or of a type that the catalog does not have",
    ["admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const invalid = { name: "WebhookError", code: "invalid_option" };
        await assert.rejects(inbox.pause({ reason: " " }), invalid);
        await assert.rejects(inbox.pause({ reason: "x".repeat(501) }), invalid);
        await assert.rejects(inbox.pause({ reason, types: [] }), invalid);
        await assert.rejects(inbox.pause({ reason, until: new Date(Date.now() - 1000) }), invalid);
        await assert.rejects(inbox.pause({ reason, types: ["esim.faultd"] }), {
          code: "unknown_event_type",
          message: /Did you mean "esim\.faulted"\?/,
        });
        assert.deepEqual(await inbox.paused(), []);
      }),
  ],
];

/** Scenarios for pauses of single types. */
export const inboxTypePauses: readonly InboxScenario[] = [
  [
    "takes other types while one is paused, and then the paused events, the longest due first",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        const others = newEvents();
        for (const id of ["a", "b", "c"]) {
          await stored(inbox, events.entry(id), others.entry(id));
          await pause(5);
        }
        await events.pauseAll();
        await stored(inbox, events.entry("d"));
        for (let call = 0; call < 3; call += 1) assert.deepEqual(await events.take(inbox), []);
        assert.equal((await others.take(inbox)).length, 3);
        assert.deepEqual(idsOf((await inbox.list({ types: [events.type], state: "ready" })).rows).sort(), [
          "a",
          "b",
          "c",
          "d",
        ]);
        await events.resumeAll();
        const taken = [];
        for (let left = 4; left > 0; left -= 1) taken.push(await takenOne(events, inbox));
        assert.deepEqual(idsOf(taken), ["a", "b", "c", "d"]);
        assert.deepEqual(
          taken.map(({ attempt }) => attempt),
          [1, 1, 1, 1],
        );
      }),
  ],
  [
    "takes no event of a type after its pause, even with many takes under way",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        for (let round = 0; round < 5; round += 1) {
          const events = pausable(inbox);
          const { source } = events;
          await stored(inbox, ...Array.from({ length: 200 }, (_, n) => events.entry(`msg_${n}`)));
          let isPaused = false;
          let takenAfter = 0;
          const leases: TakenEvent[] = [];
          const taking = Array.from({ length: 6 }, async () => {
            for (let call = 0; call < 6; call += 1) {
              const wasPaused = isPaused;
              const taken = await events.take(inbox, 3);
              leases.push(...taken);
              if (wasPaused) takenAfter += taken.length;
            }
          });
          await events.pauseAll();
          isPaused = true;
          await Promise.all(taking);
          assert.equal(takenAfter, 0);
          assert.equal(await inbox.count({ source, state: "leased" }), leases.length);
          await events.resumeAll();
          while (leases.length < 200) leases.push(...(await events.take(inbox)));
          assert.equal(leases.length, 200);
          await inbox.settle(leases.map((lease) => ({ ...lease, state: "done" }) as const)); // gauges are counted elsewhere
        }
      }),
  ],
  [
    "resumes the types that are named, and leaves the others paused",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const [one, other] = [pausable(inbox), pausable(inbox)];
        await one.pauseAll();
        await other.pauseAll();
        await stored(inbox, one.entry("a"), other.entry("b"));
        assert.deepEqual([...(await one.take(inbox)), ...(await other.take(inbox))], []);
        await one.resumeAll();
        assert.deepEqual(idsOf(await one.take(inbox)), ["a"]);
        assert.deepEqual(await other.take(inbox), []);
        const types = (await inbox.paused()).map(({ type }) => type);
        assert.ok(types.includes(other.type) && !types.includes(one.type));
        await other.resumeAll();
      }),
  ],
  [
    "counts due events of a paused type as paused, and not as ready or waiting",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        const before = (await inbox.gauges()).counts;
        await stored(inbox, events.entry("a"), events.entry("b"), events.entry("c"));
        const later = await takenOne(events, inbox);
        await inbox.settle([{ ...later, state: "retry", afterMs: hourMs, error: "no" }]);
        await events.pauseAll();
        let counts = before;
        do {
          await events.take(inbox); // a worker's next poll
          ({ counts } = await inbox.gauges());
        } while (counts.paused < before.paused + 2);
        assert.deepEqual(
          [counts.paused, counts.ready, counts.waiting],
          [before.paused + 2, before.ready, before.waiting + 1],
        );
        const rows = (await inbox.list({ types: [events.type] })).rows;
        assert.ok(rows.every(({ endsAt }) => endsAt !== null && endsAt.getTime() < Date.now() + 2 * hourMs));
        await events.resumeAll();
        ({ counts } = await inbox.gauges());
        assert.deepEqual([counts.paused, counts.ready], [before.paused, before.ready + 2]);
      }),
  ],
  [
    "does not take a suspect of a paused type",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        const entry = events.entry("a");
        await stored(inbox, entry);
        await takenOne(events, inbox, 50);
        await events.pauseAll();
        while ((await inbox.get(entry))?.state === "leased") {
          assert.deepEqual(await events.takeSuspect(inbox), []);
          await pause(20);
        }
        assert.deepEqual([...(await events.takeSuspect(inbox)), ...(await events.take(inbox))], []);
        await events.resumeAll();
        assert.equal((await events.takeInTime(inbox)).attempt, 2);
      }),
  ],
  [
    "is obeyed by a worker, and again after the pause is replaced by one that has ended",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        const others = newEvents();
        const catalog = stepCatalog(events.type, others.type);
        const data = { step: "" };
        await events.pauseAll();
        await stored(inbox, events.entry("a", { data }), others.entry("b", { data }));
        const handled: string[] = [];
        let isReplaced = false;
        const handler = ({ id }: { id: string }) => void handled.push(id);
        await worked(
          takingOnly(inbox, [events.type, others.type]),
          { [events.type]: handler, [others.type]: handler },
          { catalog },
          async () => {
            if (handled.length === 0) return false;
            if (!isReplaced) await events.pauseAll(new Date(Date.now() + 100));
            isReplaced = true;
            return (await inbox.get(events.entry("a")))?.state === "done";
          },
        );
        assert.deepEqual(handled, ["b", "a"]);
      }),
  ],
];

/** The same for an inbox with lanes. */
export const pausesInLanes: readonly InboxScenario[] = [
  [
    "holds the lane of a paused event, and keeps its order",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, 5) }, async (inbox) => {
        const events = pausable(inbox);
        const others = newEvents();
        const at = (second: number) => ({ timestamp: `2026-01-01T00:00:0${second}Z` });
        const lane = events.source.slice(0, 4);
        await stored(inbox, events.entry(`${lane}1-a`, at(1)), others.entry(`${lane}1-b`, at(2)));
        await stored(inbox, others.entry(`${lane}2-a`, at(3)), events.entry(`${lane}2-b`, at(4)));
        await events.pauseAll();
        for (let call = 0; call < 3; call += 1) assert.deepEqual(await events.take(inbox), []);
        const [free, ...none] = await others.take(inbox);
        assert.ok(free);
        assert.deepEqual([free.id, none], [`${lane}2-a`, []]);
        await inbox.settle([{ ...free, state: "done" }]);
        assert.deepEqual([...(await events.take(inbox)), ...(await others.take(inbox))], []);
        await events.resumeAll();
        const taken = await events.take(inbox);
        assert.deepEqual(idsOf(taken).sort(), [`${lane}1-a`, `${lane}2-b`]);
        await inbox.settle(taken.map((one) => ({ ...one, state: "done" }) as const));
        assert.deepEqual(idsOf(await others.take(inbox)), [`${lane}1-b`]);
      }),
  ],
  [
    "takes what waits behind a paused event once that event is erased, or the pauses of its lane have ended",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, 5) }, async (inbox) => {
        const [one, two, others] = [pausable(inbox), pausable(inbox), newEvents()];
        const at = (second: number) => ({ timestamp: `2026-01-01T00:00:0${second}Z` });
        const lane = one.source.slice(0, 4);
        const data = { esimReference: `esim_${lane}` };
        await stored(inbox, one.entry(`${lane}1-a`, { ...at(1), data }), others.entry(`${lane}1-b`, at(2)));
        await stored(inbox, one.entry(`${lane}2-a`, at(1)), two.entry(`${lane}2-b`, at(2)));
        await stored(inbox, others.entry(`${lane}2-c`, at(3)), others.entry(`${lane}2-d`, at(4)));
        await one.pauseAll();
        await two.pauseAll();
        assert.deepEqual(await others.take(inbox), []);
        assert.equal((await inbox.erase(data.esimReference, 10)).ready, 1);
        assert.deepEqual(idsOf(await others.take(inbox)), [`${lane}1-b`]);
        await two.resumeAll();
        assert.deepEqual([...(await two.take(inbox)), ...(await others.take(inbox))], []);
        await one.resumeAll();
        for (const [events, id] of [
          [one, "a"],
          [two, "b"],
          [others, "c"],
          [others, "d"],
        ] as const) {
          const next = await takenOne(events, inbox);
          assert.equal(next.id, `${lane}2-${id}`);
          await inbox.settle([{ ...next, state: "done" }]);
        }
      }),
  ],
];
