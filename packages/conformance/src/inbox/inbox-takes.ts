import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { TakenEvent } from "@esim-webhooks/core";
import { longLeaseMs } from "../store/store-context.ts";
import { type InboxScenario, idsOf, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";

/** Scenarios for the workers' role. */
export const inboxTakes: readonly InboxScenario[] = [
  [
    "gives each event to one of many concurrent takes, and counts the attempt",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, ...Array.from({ length: 100 }, (_, n) => events.entry(`msg_${n}`)));
        const takers = Array.from({ length: 10 }, async () => {
          const mine: string[] = [];
          for (;;) {
            const taken = await events.take(inbox, 7);
            if (taken.length === 0) return mine;
            assert.ok(taken.length <= 7 && taken.every(({ attempt }) => attempt === 1));
            mine.push(...idsOf(taken));
          }
        });
        const ids = (await Promise.all(takers)).flat();
        while (ids.length < 100) ids.push(...idsOf(await events.take(inbox))); // events that concurrent takes had locked and skipped
        assert.equal(ids.length, 100);
        assert.equal(new Set(ids).size, 100);
      }),
  ],
  [
    "gives out an event again once its lease has ended, with a new token and one more attempt, and lets the late owner change nothing",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const late = await takenOne(events, inbox);
        assert.deepEqual(await events.take(inbox), []);
        assert.deepEqual(await inbox.extend([late], 20), [true]);
        const owner = await events.takeInTime(inbox);
        assert.equal(owner.attempt, 2);
        assert.notEqual(owner.token, late.token);
        assert.deepEqual(await inbox.extend([late], longLeaseMs), [false]);
        const { source, id } = late;
        for (const state of ["done", "dead", "given_back"] as const) {
          assert.deepEqual(await inbox.settle([{ source, id, token: late.token, state, error: "late" }]), [
            false,
          ]);
        }
        assert.equal((await inbox.get(late))?.state, "leased");
        assert.deepEqual(await inbox.settle([{ source, id, token: owner.token, state: "done" }]), [true]);
        assert.deepEqual(await inbox.settle([{ source, id, token: owner.token, state: "dead", error: "" }]), [
          false,
        ]);
        assert.equal((await inbox.get(late))?.state, "done");
      }),
  ],
  [
    "gives an event to no other worker while its lease is extended",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        let taken: TakenEvent;
        let extended: readonly boolean[];
        do {
          taken = await events.takeInTime(inbox, 300); // repeated when the lease ended before it was extended
          extended = await inbox.extend([taken, { ...taken, token: "0" }], longLeaseMs);
        } while (!extended[0]);
        assert.deepEqual(extended, [true, false]);
        await pause(500);
        assert.deepEqual(await events.take(inbox), []);
        assert.deepEqual(await inbox.extend([taken], 20), [true]);
        await events.takeInTime(inbox);
      }),
  ],
  [
    "gives out an event for its next attempt only when it is due, and keeps the error",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("soon"), events.entry("later"));
        const taken = await events.take(inbox);
        const settledAt = performance.now();
        const settled = await inbox.settle(
          taken.map(({ source, id, token }) => ({
            ...{ source, id, token, state: "retry", error: "no stock" },
            afterMs: id === "soon" ? 200 : longLeaseMs,
          })),
        );
        assert.deepEqual(settled, [true, true]);
        const again = await events.takeInTime(inbox);
        assert.ok(performance.now() - settledAt >= 195);
        assert.deepEqual([again.id, again.attempt], ["soon", 2]);
        const later = await inbox.get({ source: events.source, id: "later" });
        assert.deepEqual([later?.state, later?.error, later?.attempts], ["ready", "no stock", 1]);
      }),
  ],
  [
    "gives out an event that waits only when it is due, counts an attempt but no try, and states for how long it has waited until it is redriven",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        let taken = await takenOne(events, inbox);
        assert.equal(taken.waitedMs, 0);
        const later = (state: "retry" | "waiting", afterMs: number) =>
          ({ state, afterMs, error: "no order" }) as const;
        const settledAs = async (end: { state: "given_back"; started?: true } | ReturnType<typeof later>) => {
          const { source, id, token } = taken;
          assert.deepEqual(await inbox.settle([{ source, id, token, ...end }]), [true]);
          const row = await inbox.get(taken);
          taken = await events.takeInTime(inbox);
          return row;
        };
        const row = await settledAs(later("waiting", 200));
        assert.deepEqual([row?.state, row?.error, row?.attempts], ["ready", "no order", 1]);
        for (const [end, attempt, tries] of [
          [later("waiting", 0), 3, 1],
          [{ state: "given_back" }, 3, 1],
          [{ state: "given_back", started: true }, 4, 1],
          [later("retry", 0), 5, 2],
          [later("waiting", 0), 6, 2],
        ] as const) {
          await settledAs(end);
          assert.deepEqual([taken.attempt, taken.tries], [attempt, tries]);
          assert.ok(taken.waitedMs >= 199, `It has waited for 200 ms, not for ${taken.waitedMs}.`);
        }
        const { source, id, token } = taken;
        await inbox.settle([{ source, id, token, state: "dead", error: "no order" }]);
        assert.equal(await inbox.redrive({ source }), 1);
        const redriven = await takenOne(events, inbox);
        assert.deepEqual([redriven.attempt, redriven.tries, redriven.waitedMs], [7, 1, 0]);
      }),
  ],
  [
    "gives out immediately an event that a worker has given back, without counting the attempt",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const { source, id, token } = await takenOne(events, inbox);
        assert.deepEqual(await inbox.settle([{ source, id, token, state: "given_back" }]), [true]);
        assert.equal((await takenOne(events, inbox)).attempt, 1);
      }),
  ],
  [
    "gives out no dead event until an operator redrives it, which counts its tries anew but not its attempts",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"));
        for (const { source, id, token } of await events.take(inbox)) {
          await inbox.settle([{ source, id, token, state: "dead", error: "Error: broken" }]);
        }
        assert.deepEqual(await events.take(inbox), []);
        const { source, type } = events;
        assert.equal((await inbox.get({ source, id: "a" }))?.error, "Error: broken");
        assert.equal(await inbox.redrive({ types: [type], ids: ["a"] }), 1);
        const again = await takenOne(events, inbox);
        assert.deepEqual([again.id, again.attempt, again.tries], ["a", 2, 1]);
        assert.equal(await inbox.purgeDead({ types: [type] }), 1);
        assert.equal(await inbox.get({ source, id: "b" }), undefined);
        assert.equal(await inbox.redrive({ types: [type] }, 10), 0);
      }),
  ],
  [
    "takes the longest due event first, and only the requested types",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const others = newEvents();
        for (const id of ["1", "2", "3"]) await stored(inbox, events.entry(id));
        await stored(inbox, others.entry("other"));
        assert.deepEqual(idsOf(await events.take(inbox, 2)).sort(), ["1", "2"]);
        const rest = await inbox.take({ limit: 1000, leaseMs: longLeaseMs, except: [others.type] });
        assert.ok(idsOf(rest).includes("3") && !idsOf(rest).includes("other"));
        assert.deepEqual(idsOf(await others.take(inbox)), ["other"]);
      }),
  ],
  [
    "commits the writes of transact together with the done mark, or leaves the event leased",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        assert.equal(inbox.transact !== undefined, inbox.capabilities.transactional);
        if (inbox.transact === undefined) return;
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const taken = await takenOne(events, inbox);
        assert.equal(await inbox.transact(taken, async () => true), "unused");
        await assert.rejects(
          inbox.transact(taken, () => Promise.reject(new Error("work"))),
          /work/,
        );
        assert.equal((await inbox.get(taken))?.state, "leased");
      }),
  ],
];
