import assert from "node:assert/strict";
import type { Inbox, TakenEvent } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  stepCatalog,
  stored,
  takenOne,
  withInbox,
} from "./inbox-context.ts";

const hourMs = 3_600_000;

async function failedUntilLater(inbox: Inbox, ...leases: readonly TakenEvent[]): Promise<void> {
  const error = "Error: no CRM";
  const retries = leases.map((lease) => ({ ...lease, state: "retry", afterMs: hourMs, error }) as const);
  assert.deepEqual(await inbox.settle(retries), Array(leases.length).fill(true));
}

/** Scenarios for operations on waiting and dead events: operators make them due, redrive them, give them up. */
export const inboxRetries: readonly InboxScenario[] = [
  [
    "makes events that are due later due now, by a filter, with all tries ahead again, and leaves those that are due",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"));
        await failedUntilLater(inbox, ...(await events.take(inbox)));
        await stored(inbox, events.entry("c"));
        const waiting = { source: events.source, error: "no CRM" };
        assert.equal(await inbox.count({ ...waiting, state: "ready", dueAfter: new Date() }), 2);
        assert.equal(await inbox.redrive({ ...waiting, state: "ready", error: "another" }), 0);
        assert.equal(await inbox.redrive({ ...waiting, state: "ready", ids: ["a"] }), 1);
        const taken = (await events.take(inbox)).map(({ id, attempt, tries }) => `${id} ${attempt} ${tries}`);
        assert.deepEqual(taken.sort(), ["a 2 1", "c 1 1"]);
        assert.equal(await inbox.redrive({ source: events.source, state: "ready" }), 1);
        assert.equal(await inbox.redrive({ source: events.source, state: "ready" }), 0);
        assert.equal((await takenOne(events, inbox)).id, "b");
      }),
  ],
  [
    "lets an event that its handler has put off wait for the whole time again once it is made due",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const lease = await takenOne(events, inbox);
        await inbox.settle([{ ...lease, state: "waiting", afterMs: hourMs, error: "not yet" }]);
        assert.equal(await inbox.redrive({ source: events.source, state: "ready" }), 1);
        assert.equal((await takenOne(events, inbox)).waitedMs, 0);
      }),
  ],
  [
    "leaves a paused event paused when it is made due",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        await failedUntilLater(inbox, await takenOne(events, inbox));
        const types = [events.type];
        await inbox.pause({ types, reason: "the CRM is down", catalog: stepCatalog(events.type) });
        assert.equal(await inbox.redrive({ types, state: "ready" }), 1);
        assert.deepEqual(await events.take(inbox), []);
        await inbox.resume({ types });
        assert.deepEqual(idsOf(await events.take(inbox)), ["a"]);
      }),
  ],
  [
    "ends events that wait as dead with a reason, leaves and counts those that a worker handles, and can redrive them",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"));
        const leases = await events.take(inbox);
        await failedUntilLater(inbox, ...leases.filter(({ id }) => id === "a"));
        await stored(inbox, events.entry("c"));
        const options = { reason: "the eSIM is gone", by: "ada" };
        assert.deepEqual(await inbox.giveUp({ source: events.source }, options, 1), { events: 1, leased: 1 });
        assert.deepEqual(await inbox.giveUp({ source: events.source }, options), { events: 1, leased: 1 });
        assert.deepEqual(await inbox.giveUp({ source: events.source }, options), { events: 0, leased: 1 });
        assert.deepEqual(await events.take(inbox), []);
        for (const [id, attempts] of [
          ["a", 1],
          ["c", 0],
        ] as const) {
          const { state, error, dueAt, settledAt, history } =
            (await inbox.get({ source: events.source, id })) ?? {};
          assert.deepEqual(
            { state, error, dueAt },
            { state: "dead", error: "Given up by ada: the eSIM is gone", dueAt: null },
          );
          assert.deepEqual(history, [
            {
              ...{ reason: "given_up", endedAt: settledAt, by: "ada", attempts, error: "the eSIM is gone" },
              ...{ durationMs: null, worker: null },
            },
          ]);
        }
        const held = leases.filter(({ id }) => id === "b");
        assert.deepEqual(await inbox.settle(held.map((lease) => ({ ...lease, state: "done" }))), [true]);
        assert.equal(await inbox.redrive({ source: events.source }), 2);
        assert.deepEqual(idsOf(await events.take(inbox)).sort(), ["a", "c"]);
      }),
  ],
  [
    "gives up paused events too, and rejects an empty reason",
    ["writer", "queue", "admin", "pauses"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const types = [events.type];
        await stored(inbox, events.entry("a"));
        await inbox.pause({ types, reason: "the CRM is down", catalog: stepCatalog(events.type) });
        await assert.rejects(inbox.giveUp({ types }, { reason: " " }), { code: "invalid_option" });
        assert.deepEqual(await inbox.giveUp({ types }, { reason: "no longer needed" }), {
          events: 1,
          leased: 0,
        });
        await inbox.resume({ types });
        assert.deepEqual(await events.take(inbox), []);
        assert.equal((await inbox.get(events.entry("a")))?.error, "Given up: no longer needed");
      }),
  ],
  [
    "notes a redrive in the history, with who did it and how many attempts there were before",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const lease = await takenOne(events, inbox);
        await inbox.settle([{ ...lease, state: "dead", error: "Error: no CRM" }]);
        const before = (await inbox.get(entry))?.settledAt;
        assert.equal(await inbox.redrive({ source: events.source }, 10, "ada"), 1);
        await failedUntilLater(inbox, await takenOne(events, inbox));
        assert.equal(await inbox.redrive({ source: events.source, state: "ready" }), 1);
        const { history = [], attempts, tries } = (await inbox.get(entry)) ?? {};
        assert.deepEqual([attempts, tries], [2, 0]);
        const step = { reason: "retried", durationMs: null, error: null, worker: null };
        assert.deepEqual(
          history.map(({ endedAt: _, ...each }) => each),
          [
            { ...step, by: "ada", attempts: 1 },
            { ...step, by: null, attempts: 2 },
          ],
        );
        for (const { endedAt } of history) assert.ok(before && endedAt && endedAt >= before);
      }),
  ],
];

/** Scenarios for these operations in lanes. */
export const retriesInLanes: readonly InboxScenario[] = [
  [
    "keeps the order of a lane when a later event of it is made due, and frees the lane when its first event is given up",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { lane: ({ data }) => String((data as { lane: string }).lane) }, async (inbox) => {
        const events = newEvents();
        const inLane = (id: string) => events.entry(id, { data: { lane: events.source } });
        await stored(inbox, inLane("a"));
        await failedUntilLater(inbox, await takenOne(events, inbox));
        await stored(inbox, inLane("b"));
        assert.deepEqual(await events.take(inbox), []);
        assert.equal(await inbox.redrive({ source: events.source, state: "ready", ids: ["b"] }), 0);
        assert.deepEqual(await events.take(inbox), []);
        assert.equal(await inbox.redrive({ source: events.source, state: "ready" }), 1);
        await failedUntilLater(inbox, await takenOne(events, inbox));
        const givenUp = await inbox.giveUp(
          { source: events.source, ids: ["a"] },
          { reason: "the eSIM is gone" },
        );
        assert.deepEqual(givenUp, { events: 1, leased: 0 });
        assert.equal((await takenOne(events, inbox)).id, "b");
      }),
  ],
];
