import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { InboxQueue, TakenEvent } from "@esim-webhooks/core";
import { type InboxScenario, idsOf, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";

async function leaveUnhandled(inbox: InboxQueue, ...taken: readonly TakenEvent[]): Promise<void> {
  const settlements = taken.map(({ source, id, token }) => ({
    source,
    id,
    token,
    state: "unhandled" as const,
  }));
  assert.deepEqual(await inbox.settle(settlements), Array(taken.length).fill(true));
}

/** Scenarios for events without a handler. */
export const inboxUnhandled: readonly InboxScenario[] = [
  [
    "keeps an unhandled event with its body, gives it to no worker, and shows it in lists and counts",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const taken = await takenOne(events, inbox);
        await leaveUnhandled(inbox, taken);
        assert.deepEqual(await inbox.settle([{ ...taken, state: "done" }]), [false]);
        assert.deepEqual(await events.take(inbox), []);
        const event = await inbox.get(entry);
        assert.deepEqual([event?.state, event?.error, event?.attempts], ["unhandled", null, 0]);
        assert.deepEqual(Buffer.from(event?.body ?? []), Buffer.from(entry.body));
        assert.ok(event?.keptUntil instanceof Date);
        const filter = { state: "unhandled", types: [events.type] } as const;
        assert.deepEqual(idsOf((await inbox.list(filter)).rows), ["a"]);
        assert.equal(await inbox.count(filter), 1);
        const stats = await inbox.stats();
        assert.ok(stats.states.unhandled >= 1);
        assert.deepEqual(
          stats.types.filter(({ type }) => type === events.type),
          [{ state: "unhandled", type: events.type, count: 1 }],
        );
      }),
  ],
  [
    "makes an unhandled event ready only when unhandled events are redriven, as its first attempt",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"));
        await leaveUnhandled(inbox, ...(await events.take(inbox)));
        const types = [events.type];
        assert.equal(await inbox.redrive({ types }), 0);
        assert.equal(await inbox.purgeDead({ types }), 0);
        assert.equal(await inbox.redrive({ types, state: "unhandled" }, 1), 1);
        const again = await takenOne(events, inbox);
        assert.deepEqual([again.attempt, again.tries], [1, 1]);
        await leaveUnhandled(inbox, again);
        assert.equal(await inbox.redrive({ types, state: "unhandled" }), 2);
        assert.deepEqual(idsOf(await events.take(inbox)).sort(), ["a", "b"]);
      }),
  ],
  [
    "answers duplicate or conflict to a redelivery of an unhandled event, and leaves it unhandled",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        await leaveUnhandled(inbox, await takenOne(events, inbox));
        const other = { ...entry, body: Buffer.from("other") };
        assert.deepEqual(await inbox.put([entry, other]), ["already_stored", "conflict"]);
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
  [
    "does not run an unhandled event again with rerun",
    ["writer", "queue", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        await leaveUnhandled(inbox, await takenOne(events, inbox));
        const replay = { run: events.source, rebuilt: true };
        assert.deepEqual(await inbox.rerun([events.entry("a", { replay })]), [false]);
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
  [
    "deletes unhandled events once their retention has expired",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { retentionMs: 200 }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const taken = await takenOne(events, inbox);
        await leaveUnhandled(inbox, taken);
        const left = await inbox.get(taken);
        assert.ok(left === undefined || left.state === "unhandled"); // a busy machine may need longer than the retention
        while ((await inbox.get(taken)) !== undefined) {
          await inbox.purge();
          await pause(20);
        }
      }),
  ],
];
