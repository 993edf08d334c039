import assert from "node:assert/strict";
import type { InboxQueue, TakenEvent } from "@esim-webhooks/core";
import { longestId } from "../base/longest-id.ts";
import { longLeaseMs } from "../store/store-context.ts";
import { type InboxScenario, idsOf, newEvents, stored, type TestEvents, withInbox } from "./inbox-context.ts";

const lane = ({ data }: { data: unknown }) => (data as { lane: string }).lane;

/** Makes an entry of the lane `name`, whose event occurred in this second of the first minute of 2026. */
function at(events: TestEvents, name: string, second: number) {
  const timestamp = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  return events.entry(`${name}_${second}`, { timestamp, data: { lane: `${events.source} ${name}` } });
}

async function settle(
  inbox: InboxQueue,
  { source, id, token }: TakenEvent,
  state: "done" | "unhandled" | "dead",
): Promise<void> {
  assert.deepEqual(await inbox.settle([{ source, id, token, state, error: "" }]), [true]);
}

/** Scenarios for an inbox with lanes. */
export const inboxLanes: readonly InboxScenario[] = [
  [
    "gives out the events of a lane one at a time, in the order they occurred, however they were put",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        for (const second of [3, 1, 4, 2]) await stored(inbox, at(events, "a", second));
        for (const second of [1, 2, 3, 4]) {
          const taken = await events.take(inbox);
          assert.deepEqual(idsOf(taken), [`a_${second}`]);
          await settle(inbox, taken[0] as TakenEvent, "done");
        }
      }),
  ],
  [
    "orders events within a millisecond, and accepts lanes with long names",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane: (event) => `${lane(event)} ${"漢".repeat(600)}` }, async (inbox) => {
        const events = newEvents();
        const entry = (id: string, micros: string) =>
          events.entry(id, { timestamp: `2026-01-01T00:00:00.123${micros}Z`, data: { lane: events.source } });
        await stored(inbox, entry("a_second", "900"), entry("z_first", "1"), entry(longestId, "901"));
        assert.deepEqual(idsOf(await events.take(inbox)), ["z_first"]);
      }),
  ],
  [
    "gives out no event of a lane while another is worked, not even an earlier one put meanwhile",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, at(events, "a", 5));
        const [working] = await events.take(inbox);
        await stored(inbox, at(events, "a", 1));
        assert.deepEqual(await events.take(inbox), []);
        await settle(inbox, working as TakenEvent, "done");
        assert.deepEqual(idsOf(await events.take(inbox)), ["a_1"]);
      }),
  ],
  [
    "blocks a lane, but no other one, while its first event waits for its next attempt",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, at(events, "a", 1), at(events, "a", 2), at(events, "b", 3), at(events, "b", 4));
        const taken = await events.take(inbox);
        assert.deepEqual(idsOf(taken).sort(), ["a_1", "b_3"]);
        for (const one of taken) {
          const { source, id, token } = one;
          if (id === "a_1")
            await inbox.settle([{ source, id, token, state: "retry", afterMs: longLeaseMs, error: "" }]);
          else await settle(inbox, one, "done");
        }
        assert.deepEqual(idsOf(await events.take(inbox)), ["b_4"]);
      }),
  ],
  [
    "frees a lane when its first event is dead, unless laneHeldByDead is set",
    ["writer", "queue", "admin"],
    async (open) => {
      for (const laneHeldByDead of [false, true]) {
        await withInbox(open, { lane, laneHeldByDead }, async (inbox) => {
          const events = newEvents();
          await stored(inbox, at(events, "a", 1), at(events, "a", 2));
          const [first] = await events.take(inbox);
          await settle(inbox, first as TakenEvent, "dead");
          assert.deepEqual(idsOf(await events.take(inbox)), laneHeldByDead ? [] : ["a_2"]);
          if (!laneHeldByDead) return;
          await inbox.purgeDead({ types: [events.type] });
          assert.deepEqual(idsOf(await events.take(inbox)), ["a_2"]);
        });
      }
    },
  ],
  [
    "names the event that holds the lane of another one: the leased one, the first that is ready, or with laneHeldByDead a dead one",
    ["writer", "queue", "admin"],
    async (open) => {
      for (const laneHeldByDead of [false, true]) {
        await withInbox(open, { lane, laneHeldByDead }, async (inbox) => {
          const events = newEvents();
          const [a1, a2, a3] = [at(events, "a", 1), at(events, "a", 2), at(events, "a", 3)];
          await stored(inbox, a1, a2, a3, at(events, "b", 1));
          const holders = () =>
            Promise.all(
              [a1, a2, a3].map(async (entry) => {
                const { heldBy } = (await inbox.get(entry)) ?? {};
                return heldBy && `${heldBy.source === entry.source} ${heldBy.id} ${heldBy.state}`;
              }),
            );
          assert.deepEqual(await holders(), [null, "true a_1 ready", "true a_1 ready"]);
          const taken = await events.take(inbox);
          assert.deepEqual(await holders(), [null, "true a_1 leased", "true a_1 leased"]);
          await settle(inbox, taken.find(({ id }) => id === "a_1") as TakenEvent, "dead");
          const expected = laneHeldByDead ? "true a_1 dead" : null;
          assert.deepEqual(await holders(), [null, expected, "true a_2 ready"]);
        });
      }
    },
  ],
  [
    "lets an unhandled event block no lane, even with laneHeldByDead",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane, laneHeldByDead: true }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, at(events, "a", 1), at(events, "a", 2));
        const [first] = await events.take(inbox);
        await settle(inbox, first as TakenEvent, "unhandled");
        assert.deepEqual(idsOf(await events.take(inbox)), ["a_2"]);
      }),
  ],
  [
    "keeps the order of stored lanes for a worker without the lane option",
    ["writer", "queue"],
    async (open) => {
      const events = newEvents();
      let durable = false;
      await withInbox(open, { lane }, async (inbox) => {
        durable = inbox.capabilities.durable;
        await stored(inbox, at(events, "a", 1), at(events, "a", 2), at(events, "b", 3));
      });
      if (!durable) return;
      await withInbox(open, {}, async (inbox) => {
        assert.deepEqual(idsOf(await events.take(inbox)).sort(), ["a_1", "b_3"]);
        assert.deepEqual(await events.take(inbox), []);
      });
    },
  ],
  [
    "gives out a rerun event in the order of its lane",
    ["writer", "queue", "rerun"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        const replay = { run: events.source, rebuilt: true };
        for (const second of [1, 2]) {
          await stored(inbox, at(events, "a", second));
          for (const taken of await events.take(inbox)) await settle(inbox, taken, "done");
        }
        await stored(inbox, at(events, "a", 3));
        const again = [2, 1].map((second) => ({ ...at(events, "a", second), replay }));
        assert.deepEqual(await inbox.rerun(again), [true, true]);
        for (const second of [1, 2, 3]) {
          const taken = await events.take(inbox);
          assert.deepEqual(idsOf(taken), [`a_${second}`]);
          await settle(inbox, taken[0] as TakenEvent, "done");
        }
      }),
  ],
  [
    "does not stall when a lease ends behind an earlier event",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, at(events, "a", 5));
        await events.take(inbox, 1, 30); // a worker that never settles
        await stored(inbox, at(events, "a", 1));
        assert.equal((await events.takeInTime(inbox)).id, "a_1");
      }),
  ],
  [
    "never gives a lane to two concurrent takes",
    ["writer", "queue"],
    (open) =>
      withInbox(open, { lane }, async (inbox) => {
        const events = newEvents();
        const lanes = Array.from({ length: 8 }, (_, n) => `lane${n}`);
        const entries = lanes.flatMap((name) =>
          Array.from({ length: 12 }, (_, second) => at(events, name, second)),
        );
        await Promise.all(entries.map((entry) => inbox.put([entry])));
        const working = new Set<string>();
        const worked: string[] = [];
        const worker = async () => {
          while (worked.length < entries.length) {
            await new Promise((resolve) => setImmediate(resolve)); // lets the other workers run if the database is in this process
            for (const taken of await events.take(inbox, 3)) {
              const name = taken.id.split("_")[0] ?? "";
              assert.ok(!working.has(name), `two events of ${name} at the same time`);
              working.add(name);
              await new Promise((resolve) => setImmediate(resolve));
              working.delete(name);
              worked.push(taken.id); // first: the next of its lane may be handled before this settlement is answered
              await settle(inbox, taken, "done");
            }
          }
        };
        await Promise.all(Array.from({ length: 6 }, worker));
        for (const name of lanes) {
          const order = worked
            .filter((id) => id.startsWith(`${name}_`))
            .map((id) => Number(id.split("_")[1]));
          assert.deepEqual(
            order,
            Array.from({ length: 12 }, (_, second) => second),
          );
        }
      }),
  ],
];
