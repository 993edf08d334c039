import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  stored,
  type TestEvents,
  takenOne,
  withInbox,
} from "./inbox-context.ts";
import { pausable } from "./inbox-type-pauses.ts";

const hourMs = 3_600_000;

/** Takes the next events, and settles them as done. Resolves to their ids. */
async function settledNext(events: TestEvents, inbox: Inbox): Promise<string[]> {
  const taken = await events.take(inbox);
  await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" }) as const));
  return idsOf(taken);
}

/** Scenarios for pauses in an inbox with lanes. */
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
        assert.deepEqual(idsOf(await heads.take(inbox, 1, 30)), [`${prefix}2-1`]); // not settled: its lease ends
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
    "finds the event of a free lane soon, although thousands of lanes wait behind paused events",
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
          const found = await others.takeInTime(inbox);
          assert.equal(found.id, `${heads.source}lane_free-${second}`);
          await inbox.settle([{ ...found, state: "done" }]);
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
