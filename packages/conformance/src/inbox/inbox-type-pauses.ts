import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Inbox, TakenEvent } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  pausedForASecond,
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

/** Makes events of a type that can be paused. */
export function pausable(
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
          await inbox.settle(leases.map((lease) => ({ ...lease, state: "done" }) as const)); // other scenarios count gauges
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
            if (!isReplaced) await pausedForASecond(events.pauseAll);
            isReplaced = true;
            return (await inbox.get(events.entry("a")))?.state === "done";
          },
        );
        assert.deepEqual(handled, ["b", "a"]);
      }),
  ],
];
