import assert from "node:assert/strict";
import type { GaugeCount, Inbox } from "@esim-webhooks/core";
import {
  type InboxScenario,
  newEvents,
  type OpenInbox,
  type OpenInboxOptions,
  stepCatalog,
  stored,
  type TestEvents,
  withInbox,
} from "./inbox-context.ts";

/** Checks the counts of events by state, with or without lanes: engines use different indexes for the two. */
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

/** Scenarios for the gauges of an inbox with lanes. */
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

/** Scenarios for the gauges of an inbox. */
export const inboxGauges: readonly InboxScenario[] = [
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
];
