import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { createWorker, type InboxQueue, type TakenEvent } from "@esim-webhooks/core";
import { longLeaseMs } from "../store/store-context.ts";
import {
  entryOf,
  type InboxScenario,
  idsOf,
  newEvents,
  stepCatalog,
  stored,
  type TestEvents,
  takingOnly,
  withInbox,
} from "./inbox-context.ts";

/** Takes the due events of a test, and lets their leases end. Resolves to the first of them, as a suspect. */
async function firstSuspect(events: TestEvents, inbox: InboxQueue, leaseMs?: number): Promise<TakenEvent> {
  await events.take(inbox, 100, 20);
  for (;;) {
    const [suspect] = await events.takeSuspect(inbox, leaseMs);
    if (suspect !== undefined) return suspect;
    await pause(20);
  }
}

/** Scenarios for events whose last lease ended without a settlement. */
export const inboxSuspects: readonly InboxScenario[] = [
  [
    "gives out an event whose last lease ended without a settlement only to those who ask for suspects, and no other to them",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"));
        const first = await firstSuspect(events, inbox);
        await stored(inbox, events.entry("c"));
        assert.deepEqual(idsOf(await events.take(inbox)), ["c"]);
        const [second] = await events.takeSuspect(inbox);
        assert.deepEqual(await events.takeSuspect(inbox), []);
        assert.deepEqual([first.id, second?.id].sort(), ["a", "b"]);
        assert.deepEqual([first.attempt, second?.attempt], [2, 2]);
      }),
  ],
  [
    "clears the suspicion with a settlement, but not when the event is given back",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        for (const [state, tries] of [
          ["retry", 3],
          ["waiting", 2],
        ] as const) {
          const events = newEvents();
          await stored(inbox, events.entry("a"));
          const { source, id, token } = await firstSuspect(events, inbox);
          assert.deepEqual(await inbox.settle([{ source, id, token, state: "given_back" }]), [true]);
          assert.deepEqual(await events.take(inbox), []);
          const [again] = await events.takeSuspect(inbox);
          assert.ok(again !== undefined);
          const tried = { source, id, token: again.token, state, afterMs: 0, error: "no stock" } as const;
          assert.deepEqual(await inbox.settle([tried]), [true]);
          assert.deepEqual(await events.takeSuspect(inbox), []);
          const [taken] = await events.take(inbox);
          assert.deepEqual([taken?.attempt, taken?.tries], [3, tries]);
        }
      }),
  ],
  [
    "gives each suspect to one of many concurrent takes",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, ...Array.from({ length: 20 }, (_, n) => events.entry(`msg_${n}`)));
        const ids = [(await firstSuspect(events, inbox)).id];
        while (ids.length < 20) {
          const taken = await Promise.all(Array.from({ length: 5 }, () => events.takeSuspect(inbox)));
          ids.push(...idsOf(taken.flat()));
        }
        assert.equal(new Set(ids).size, 20);
      }),
  ],
  [
    "counts out an event that ends its process, and none of those that were taken with it",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const { type, source } = newEvents();
        const ids = Array.from({ length: 20 }, (_, n) => (n === 9 ? "deadly" : `msg_${n}`));
        await stored(inbox, ...ids.map((id) => entryOf(source, id, type, { step: "" })));
        const catalog = stepCatalog(type);
        const maxAttempts = 3;
        const runs = new Map(ids.map((id) => [id, 0]));
        let deaths = 0;
        const count = (state: "ready" | "leased" | "done" | "dead") => inbox.count({ source, state });

        /** Runs a worker that loses its inbox once it has run the deadly event, as if its process had died then. */
        async function untilDeath(): Promise<void> {
          const died = new AbortController();
          const alive = <Answer>(ask: () => Promise<Answer>) =>
            died.signal.aborted ? Promise.reject(new Error("The process has ended.")) : ask();
          const queue = takingOnly(inbox, [type]);
          const leased: TakenEvent[] = [];
          const mortal: InboxQueue = {
            ...queue,
            async take(options) {
              const taken = await alive(() => queue.take(options));
              leased.push(...taken);
              return taken;
            },
            extend: (leases, leaseMs) => alive(() => queue.extend(leases, leaseMs)),
            settle: (settlements) => alive(() => queue.settle(settlements)),
          };
          const handler = async ({ id }: { id: string }) => {
            runs.set(id, (runs.get(id) ?? 0) + 1);
            await pause(5); // so that the other handlers start
            if (id === "deadly") {
              deaths += 1;
              died.abort();
            } else if (died.signal.aborted || deaths === 0) await new Promise(() => {}); // never returns, as if its process had died
          };
          const options = { catalog, maxAttempts, leaseMs: longLeaseMs, pollMs: 10, shutdownMs: 0 };
          const running = createWorker(mortal, { [type]: handler }, options).run({ signal: died.signal });
          while (!died.signal.aborted && (await count("dead")) === 0) await pause(10);
          while (!died.signal.aborted && (await count("done")) < 19) await pause(10);
          died.abort();
          await running;
          await queue.extend(leased, 20); // the leases end soon, but none ends before the death
        }

        while ((await count("done")) < 19 || (await count("dead")) < 1) await untilDeath();
        assert.equal((await inbox.get({ source, id: "deadly" }))?.state, "dead");
        assert.equal(deaths, maxAttempts);
        for (const [id, times] of runs) assert.ok(id === "deadly" || times <= 2, `${id} ran ${times} times`);
      }),
  ],
];

/** Scenarios for suspects in lanes. */
export const suspectsInLanes: readonly InboxScenario[] = [
  [
    "holds the lane of a suspect until it is settled",
    ["writer", "queue"],
    (open) => {
      const events = newEvents();
      return withInbox(open, { lane: () => events.source }, async (inbox) => {
        const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
        await stored(inbox, events.entry("1", { timestamp: at(1) }));
        await stored(inbox, events.entry("2", { timestamp: at(2) }));
        const { source, id, token } = await firstSuspect(events, inbox, longLeaseMs);
        assert.equal(id, "1");
        assert.deepEqual(await events.take(inbox), []);
        await inbox.settle([{ source, id, token, state: "given_back" }]);
        assert.deepEqual(await events.take(inbox), []);
        const [again] = await events.takeSuspect(inbox);
        assert.ok(again !== undefined);
        await inbox.settle([{ source, id, token: again.token, state: "done" }]);
        assert.deepEqual(idsOf(await events.take(inbox)), ["2"]);
      });
    },
  ],
];
