import assert from "node:assert/strict";
import type { InboxQueue, TakenEvent } from "@esim-webhooks/core";
import { longLeaseMs } from "../store/store-context.ts";
import {
  type InboxScenario,
  newEvents,
  stepCatalog,
  stored,
  type TestEvents,
  withInbox,
} from "./inbox-context.ts";

const fair = { fairBy: "source" } as const;

/** Entries of a source, named after it. */
function entriesOf(events: TestEvents, source: string, count: number, data: unknown = {}) {
  const named = `${events.source} ${source}`;
  return Array.from({ length: count }, (_, n) => events.entry(`${source}_${n}`, { source: named, data }));
}

/** How many events were taken of each source. */
function countsOf(events: TestEvents, taken: readonly TakenEvent[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { source } of taken) {
    const name = source.slice(events.source.length + 1);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Takes and settles what is left, so that it is in no one's way. */
async function workAll(inbox: InboxQueue, events: TestEvents, taken: readonly TakenEvent[]): Promise<void> {
  for (let batch = taken; batch.length > 0; batch = await events.take(inbox, 1000))
    await inbox.settle(batch.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
}

/** Scenarios for an inbox with `fairBy: "source"`. Other events may be in it, so a bound allows for takes that visit their sources. */
export const inboxShares: readonly InboxScenario[] = [
  [
    "takes ten events of one source within a few takes, while another one has thousands that are due for longer",
    ["writer", "queue"],
    (open) =>
      withInbox(open, fair, async (inbox) => {
        const events = newEvents();
        await stored(inbox, ...entriesOf(events, "storm", 3000));
        await stored(inbox, ...entriesOf(events, "quiet", 10));
        const taken: TakenEvent[] = [];
        let takes = 0;
        while (countsOf(events, taken)["quiet"] !== 10) {
          const batch = await events.take(inbox, 20);
          assert.equal(batch.length, 20);
          taken.push(...batch);
          takes += 1;
          assert.ok(takes <= 20, `after ${takes} takes: ${JSON.stringify(countsOf(events, taken))}`);
        }
        assert.ok((countsOf(events, taken)["storm"] ?? 0) >= 10);
        await workAll(inbox, events, taken);
      }),
  ],
  [
    "takes of every source in a round when there are more sources than places",
    ["writer", "queue"],
    (open) =>
      withInbox(open, fair, async (inbox) => {
        const events = newEvents();
        await stored(inbox, ...entriesOf(events, "storm", 1000));
        for (let source = 0; source < 40; source += 1)
          await stored(inbox, ...entriesOf(events, `source_${source}`, 3));
        const taken: TakenEvent[] = [];
        for (let takes = 0; takes < 20; takes += 1) taken.push(...(await events.take(inbox, 10)));
        assert.equal(Object.keys(countsOf(events, taken)).length, 41);
        await workAll(inbox, events, taken);
      }),
  ],
  [
    "gives each event to one of many concurrent takes, and fills the places that other sources leave",
    ["writer", "queue"],
    (open) =>
      withInbox(open, fair, async (inbox) => {
        const events = newEvents();
        for (const [source, count] of [
          ["a", 200],
          ["b", 30],
          ["c", 1],
        ] as const)
          await stored(inbox, ...entriesOf(events, source, count));
        assert.equal((await events.take(inbox, 50)).length, 50);
        const taken: TakenEvent[] = [];
        while (taken.length < 181) {
          const batches = await Promise.all(Array.from({ length: 8 }, () => events.take(inbox, 7)));
          taken.push(...batches.flat());
        }
        assert.equal(new Set(taken.map(({ source, id }) => `${source} ${id}`)).size, 181);
        await workAll(inbox, events, taken);
      }),
  ],
  [
    "takes only the requested types, and no event of a paused one",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, fair, async (inbox) => {
        const [events, others] = [newEvents(), newEvents()];
        for (const source of ["a", "b"]) {
          await stored(inbox, ...entriesOf(others, source, 5));
          await stored(inbox, ...entriesOf(events, source, 5));
        }
        await inbox.pause({ types: [events.type], reason: "a test", catalog: stepCatalog(events.type) });
        await stored(inbox, ...entriesOf(events, "c", 5));
        const only = [events.type, others.type];
        const taken = await inbox.take({ limit: 100, leaseMs: longLeaseMs, only });
        assert.deepEqual(new Set(taken.map(({ type }) => type)), new Set([others.type]));
        assert.equal(taken.length, 10);
        await inbox.resume({ types: [events.type] });
        let resumed: readonly TakenEvent[] = [];
        while (resumed.length < 15) resumed = [...resumed, ...(await events.take(inbox))];
        assert.equal(resumed.length, 15);
      }),
  ],
];

/** Scenarios for one that has lanes, too. */
export const sharesInLanes: readonly InboxScenario[] = [
  [
    "takes one event of a lane at a time, also if the lane has events of several sources, and of each source as others allow",
    ["writer", "queue"],
    (open) => {
      const lane = ({ data }: { data: unknown }) => (data as { lane: string }).lane;
      return withInbox(open, { ...fair, lane }, async (inbox) => {
        const events = newEvents();
        const inLane = (name: string) => ({ lane: `${events.source} ${name}` });
        await stored(inbox, ...entriesOf(events, "a", 300, inLane("shared")));
        await stored(inbox, ...entriesOf(events, "b", 3, inLane("shared")));
        for (const name of ["x", "y"])
          await stored(inbox, ...entriesOf(events, `c_${name}`, 2, inLane(name)));
        const first = await events.take(inbox, 10);
        const counts = countsOf(events, first);
        assert.equal((counts["a"] ?? 0) + (counts["b"] ?? 0), 1);
        assert.deepEqual([counts["c_x"], counts["c_y"]], [1, 1]);
        assert.deepEqual(await events.take(inbox, 10), []);
        let worked = 0;
        for (let batch = first; batch.length > 0; batch = await events.take(inbox, 10)) {
          await inbox.settle(batch.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
          worked += batch.length;
        }
        assert.equal(worked, 307);
      });
    },
  ],
];
