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
    "counts ready events of a paused type as paused, due or not, those that were stored before the pause and during it",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        const before = (await inbox.gauges()).counts;
        await stored(inbox, events.entry("a"), events.entry("b"), events.entry("c"));
        const later = await takenOne(events, inbox);
        await inbox.settle([{ ...later, state: "retry", afterMs: hourMs, error: "no" }]);
        await events.pauseAll();
        await stored(inbox, events.entry("d"));
        let { counts } = await inbox.gauges();
        assert.deepEqual(
          [counts.paused, counts.ready, counts.waiting],
          [before.paused + 4, before.ready, before.waiting],
        );
        const rows = (await inbox.list({ types: [events.type] })).rows;
        assert.ok(rows.every(({ dueAt }) => dueAt !== null && dueAt.getTime() < Date.now() + 2 * hourMs));
        await events.resumeAll();
        ({ counts } = await inbox.gauges());
        assert.deepEqual(
          [counts.paused, counts.ready, counts.waiting],
          [before.paused, before.ready + 3, before.waiting + 1],
        );
      }),
  ],
  [
    "lets a paused event be due from the end of its pause, since no worker could have taken it before",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = pausable(inbox);
        await stored(inbox, events.entry("a"));
        await events.pauseAll();
        await pause(100);
        const resumedAt = Date.now();
        await events.resumeAll();
        const { waitMs } = await takenOne(events, inbox);
        assert.ok(waitMs <= Date.now() - resumedAt + 50, `it waited for ${waitMs} ms`);
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

/** Takes the next events, and settles them as done. Resolves to their ids. */
async function settledNext(events: TestEvents, inbox: Inbox): Promise<string[]> {
  const taken = await events.take(inbox);
  await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" }) as const));
  return idsOf(taken);
}

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
  [
    "gives out the events of a lane in their order, whether they arrive before a pause, during it or after it, ahead of a paused event or behind it",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, 5) }, async (inbox) => {
        const [events, others] = [pausable(inbox), newEvents()];
        const lane = events.source.slice(0, 4);
        const at = (of: TestEvents, second: number) =>
          of.entry(`${lane}1-${second}`, { timestamp: `2026-01-01T00:00:0${second}Z` });
        await stored(inbox, at(events, 3), at(others, 4));
        await events.pauseAll();
        await stored(inbox, at(others, 5), at(events, 6));
        assert.deepEqual([...(await others.take(inbox)), ...(await events.take(inbox))], []);
        await stored(inbox, at(others, 2)); // it occurred before the paused one
        assert.deepEqual(await settledNext(others, inbox), [`${lane}1-2`]);
        assert.deepEqual([...(await others.take(inbox)), ...(await events.take(inbox))], []);
        await stored(inbox, at(events, 1));
        await events.resumeAll();
        await stored(inbox, at(others, 7));
        for (const [of, second] of [
          [events, 1],
          [events, 3],
          [others, 4],
          [others, 5],
          [events, 6],
          [others, 7],
        ] as const) {
          const other = of === events ? others : events;
          assert.deepEqual(await other.take(inbox), []);
          assert.deepEqual(await settledNext(of, inbox), [`${lane}1-${second}`]);
        }
      }),
  ],
  [
    "holds a lane whose first event waits for its next attempt, is paused, was abandoned, or is dead, until that one is settled, resumed or deleted",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, 5), laneHeldByDead: true }, async (inbox) => {
        const [heads, others] = [pausable(inbox), newEvents()];
        const prefix = heads.source.slice(0, 4);
        const at = (of: TestEvents, lane: number, second: number) =>
          of.entry(`${prefix}${lane}-${second}`, { timestamp: `2026-01-01T00:00:0${second}Z` });
        const follow = () => stored(inbox, ...[1, 2, 3].map((lane) => at(others, lane, 2)));
        await stored(inbox, ...[1, 2, 3].map((lane) => at(heads, lane, 1)));
        const taken = await heads.take(inbox, 3);
        await inbox.settle(
          taken.map((lease) =>
            lease.id.startsWith(`${prefix}1`)
              ? { ...lease, state: "retry", afterMs: hourMs, error: "" }
              : { ...lease, state: "dead", error: "" },
          ),
        );
        await follow();
        assert.deepEqual(await others.take(inbox), []);
        await heads.pauseAll();
        assert.equal(await inbox.redrive({ types: [heads.type], ids: [`${prefix}2-1`] }), 1);
        assert.deepEqual([...(await others.take(inbox)), ...(await heads.take(inbox))], []);
        assert.equal(await inbox.purgeDead({ types: [heads.type] }), 1);
        assert.deepEqual(await settledNext(others, inbox), [`${prefix}3-2`]);
        await heads.resumeAll();
        assert.deepEqual(idsOf(await heads.take(inbox, 1, 30)), [`${prefix}2-1`]); // and abandons it
        await heads.pauseAll();
        while ((await inbox.get(at(heads, 2, 1)))?.state === "leased") {
          assert.deepEqual([...(await others.take(inbox)), ...(await heads.takeSuspect(inbox))], []);
          await pause(20);
        }
        assert.deepEqual([...(await others.take(inbox)), ...(await heads.takeSuspect(inbox))], []);
        await heads.resumeAll();
        const again = await heads.takeInTime(inbox);
        assert.equal(again.id, `${prefix}2-1`);
        await inbox.settle([{ ...again, state: "done" }]);
        assert.deepEqual(await settledNext(others, inbox), [`${prefix}2-2`]);
        assert.deepEqual([...(await others.take(inbox)), ...(await heads.take(inbox))], []);
      }),
  ],
  [
    "finds the event of a free lane within a few takes, although thousands of lanes wait behind paused events",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, { lane: ({ id }) => id.slice(0, -2) }, async (inbox) => {
        const [heads, others] = [pausable(inbox), newEvents()];
        const at = (of: TestEvents, lane: string, second: number) =>
          of.entry(`${heads.source}${lane}-${second}`, { timestamp: `2026-01-01T00:00:0${second}Z` });
        const lanes = Array.from({ length: 3000 }, (_, n) => `lane${n}`);
        await heads.pauseAll();
        for (let from = 0; from < lanes.length; from += 500) {
          const some = lanes.slice(from, from + 500);
          await inbox.put(some.flatMap((lane) => [at(heads, lane, 1), at(others, lane, 2)]));
        }
        await stored(inbox, at(others, "lane_free", 1), at(others, "lane_free", 2));
        for (const second of [1, 2]) {
          let found: readonly TakenEvent[] = [];
          for (let takes = 0; found.length === 0; takes += 1) {
            assert.ok(takes < 4, "no event was found");
            found = await others.take(inbox, 20);
          }
          assert.deepEqual(idsOf(found), [`${heads.source}lane_free-${second}`]);
          await inbox.settle(found.map((lease) => ({ ...lease, state: "done" }) as const));
        }
        assert.deepEqual([...(await others.take(inbox)), ...(await heads.take(inbox))], []);
        await heads.resumeAll();
        for (const of of [heads, others])
          for (let done = 0; done < lanes.length; ) {
            const taken = await of.take(inbox, 1000);
            await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" }) as const));
            done += taken.length;
          }
      }),
  ],
];
