import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { PutResult } from "../inbox.ts";
import { type InboxScenario, idsOf, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";
import { longLeaseMs } from "./store-context.ts";

/** What an inbox makes of what is put into it. */
const puts: readonly InboxScenario[] = [
  [
    "keeps bodies byte for byte, whatever their bytes are",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const bodies = [
          Uint8Array.from({ length: 256 }, (_, n) => n),
          new Uint8Array([0, 0, 0]),
          new Uint8Array(),
          Buffer.from('{"a":"\\u0000\\\\"}'),
          new Uint8Array(200_000).fill(255),
        ];
        await stored(inbox, ...bodies.map((body, n) => events.entry(`msg_${n}`, { body })));
        const taken = await events.take(inbox);
        assert.equal(taken.length, bodies.length);
        for (const { id, body } of taken) {
          assert.deepEqual(Buffer.from(body), Buffer.from(bodies[Number(id.slice(4))] ?? []));
        }
      }),
  ],
  [
    "answers one to one, in order: stored, duplicate, and conflict for the same id with another body, which changes nothing",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const [a, b] = [events.entry("a"), events.entry("b")];
        const other = events.entry("a", { body: Buffer.from("other") });
        assert.deepEqual(await inbox.put([a, b, a]), ["stored", "stored", "duplicate"]);
        assert.deepEqual(await inbox.put([b, other, events.entry("c"), a]), [
          "duplicate",
          "conflict",
          "stored",
          "duplicate",
        ]);
        const row = await inbox.get(a);
        assert.deepEqual(Buffer.from(row?.body ?? []), Buffer.from(a.body));
        assert.equal(row?.conflicts, 1);
        const twice = [events.entry("d"), events.entry("d", { body: Buffer.from("other") })];
        assert.deepEqual(await inbox.put(twice), ["stored", "conflict"]);
        assert.deepEqual(await inbox.put([]), []);
      }),
  ],
  [
    "knows a duplicate and a conflict by the body, when it is done as well",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const { source, id, token } = await takenOne(events, inbox);
        assert.deepEqual(await inbox.settle([{ source, id, token, state: "done" }]), [true]);
        assert.deepEqual(await inbox.put([entry]), ["duplicate"]);
        assert.deepEqual(await inbox.put([{ ...entry, body: Buffer.from("other") }]), ["conflict"]);
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
  [
    "stores each of many ids once when they are put by many at the same time, in any order",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entries = Array.from({ length: 60 }, (_, n) => events.entry(`msg_${n}`));
        const calls = Array.from({ length: 20 }, async (_, n) => {
          const shuffled = n % 2 === 0 ? entries : [...entries].reverse();
          const results: PutResult[] = [];
          for (let i = 0; i < shuffled.length; i += 10) {
            results.push(...(await inbox.put(shuffled.slice(i, i + 10))));
          }
          return results;
        });
        const results = (await Promise.all(calls)).flat();
        assert.equal(results.filter((result) => result === "stored").length, entries.length);
        assert.equal(results.filter((result) => result === "duplicate").length, 19 * entries.length);
      }),
  ],
  [
    "keeps the same id of another source apart, and takes odd ids, types and times as they are",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { source } = events;
        await stored(
          inbox,
          events.entry("b:c", { source: `${source}a` }),
          events.entry("c", { source: `${source}a:b` }),
          ...[" ", "7", "'\";--", "🦓", "x".repeat(512)].map((id) => events.entry(id)),
          events.entry("null", { type: null, event: null }),
          events.entry("nul", { type: "a\0b" }),
          events.entry("old", { timestamp: "0001-01-01T00:00:00Z" }),
          events.entry("far", { timestamp: "9999-12-31T23:59:59.999+14:00" }),
        );
        assert.equal((await events.take(inbox)).length, 9);
        for (const state of ["ready"] as const) {
          const { rows } = await inbox.list({ state, source, ids: ["null", "nul"] });
          assert.equal(rows.length, 2);
        }
      }),
  ],
  [
    "stores events whose time cannot be told, and large ones, with all that are put at the same time",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const times = [
          "2026-12-31T23:59:60Z",
          "2026-13-45T99:99:99Z",
          "+275760-09-13T00:00:00Z",
          "-271821-04-20T00:00:00Z",
        ];
        const odd = times.map((timestamp, n) => events.entry(`odd_${n}`, { timestamp }));
        const large = Array.from({ length: 30 }, (_, n) =>
          events.entry(`large_${n}`, { body: new Uint8Array(1024 * 1024).fill(n) }),
        );
        const plain = Array.from({ length: 50 }, (_, n) => events.entry(`plain_${n}`));
        const results = await Promise.all([...odd, ...large, ...plain].map((entry) => inbox.put([entry])));
        assert.ok(results.every(([result]) => result === "stored"));
      }),
  ],
  [
    "refuses an entry that it cannot keep, and stores those put at the same time",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const refused = { name: "WebhookError", code: "invalid_input" };
        const good = inbox.put([events.entry("good")]);
        await assert.rejects(inbox.put([events.entry("a\0b")]), refused);
        await assert.rejects(inbox.put([events.entry("x".repeat(3000))]), refused);
        await assert.rejects(inbox.put([events.entry("a\ud800")]), refused);
        await assert.rejects(inbox.put([events.entry("a", { receivedAt: new Date(Number.NaN) })]), refused);
        assert.deepEqual(await good, ["stored"]);
      }),
  ],
];

/** What becomes of an event that was taken. */
const takes: readonly InboxScenario[] = [
  [
    "gives each event to one of many who take at the same time, and counts the attempt",
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
        while (ids.length < 100) ids.push(...idsOf(await events.take(inbox))); // skipped while others held them
        assert.equal(ids.length, 100);
        assert.equal(new Set(ids).size, 100);
      }),
  ],
  [
    "takes an event again once its lease has ended, with a new token and one more attempt, and lets the late owner change nothing",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const late = await takenOne(events, inbox, 50);
        assert.deepEqual(await events.take(inbox), []);
        const owner = await events.takeInTime(inbox);
        assert.equal(owner.attempt, 2);
        assert.notEqual(owner.token, late.token);
        assert.deepEqual(await inbox.extend([late], longLeaseMs), [false]);
        const { source, id } = late;
        for (const state of ["done", "dead", "untouched"] as const) {
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
    "keeps an event from others for as long as its lease is extended",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const taken = await takenOne(events, inbox, 300);
        assert.deepEqual(await inbox.extend([taken, { ...taken, token: "0" }], longLeaseMs), [true, false]);
        await pause(500);
        assert.deepEqual(await events.take(inbox), []);
        assert.deepEqual(await inbox.extend([taken], 20), [true]);
        await events.takeInTime(inbox);
      }),
  ],
  [
    "gives an event that is to be tried again when it is due, not before, and keeps the reason",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("soon"), events.entry("later"));
        const taken = await events.take(inbox);
        const settled = await inbox.settle(
          taken.map(({ source, id, token }) => ({
            ...{ source, id, token, state: "ready", error: "no stock" },
            afterMs: id === "soon" ? 200 : longLeaseMs,
          })),
        );
        assert.deepEqual(settled, [true, true]);
        assert.deepEqual(await events.take(inbox), []);
        const again = await events.takeInTime(inbox);
        assert.deepEqual([again.id, again.attempt], ["soon", 2]);
        const later = await inbox.get({ source: events.source, id: "later" });
        assert.deepEqual([later?.state, later?.error, later?.attempts], ["ready", "no stock", 1]);
      }),
  ],
  [
    "gives an event that was given back untouched at once, as if it had not been taken",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"));
        const { source, id, token } = await takenOne(events, inbox);
        assert.deepEqual(await inbox.settle([{ source, id, token, state: "untouched" }]), [true]);
        assert.equal((await takenOne(events, inbox)).attempt, 1);
      }),
  ],
  [
    "gives a dead event to nobody until an operator redrives it, which counts its attempts anew",
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
        assert.deepEqual([again.id, again.attempt], ["a", 1]);
        assert.equal(await inbox.purgeDead({ types: [type] }), 1);
        assert.equal(await inbox.get({ source, id: "b" }), undefined);
        assert.equal(await inbox.redrive({ types: [type] }, 10), 0);
      }),
  ],
  [
    "takes what has been due for longest first, and types as asked for",
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
    "commits what transact wrote with the mark that the event is done, or leaves it leased",
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

/** What an operator sees and does. */
const operations: readonly InboxScenario[] = [
  [
    "lists by state, type, source, id and time, newest first, page by page",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
        await stored(
          inbox,
          ...Array.from({ length: 25 }, (_, n) => events.entry(`msg_${n}`, { receivedAt: at(n) })),
        );
        const filter = { types: [events.type] };
        const ids: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await inbox.list(filter, { limit: 10, ...(cursor !== undefined && { cursor }) });
          ids.push(...idsOf(page.rows));
          if (page.nextCursor === null) break;
          cursor = page.nextCursor;
        }
        assert.deepEqual(
          ids,
          Array.from({ length: 25 }, (_, n) => `msg_${24 - n}`),
        );
        const some = await inbox.list({
          ...filter,
          state: "ready",
          source: events.source,
          since: at(3),
          until: at(5),
        });
        assert.deepEqual(idsOf(some.rows), ["msg_4", "msg_3"]);
        assert.deepEqual((await inbox.list({ ...filter, state: "dead" })).rows, []);
      }),
  ],
  [
    "counts by state and type, and says how long the oldest due event has waited",
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("a"), events.entry("b"), events.entry("c"));
        await events.take(inbox, 1);
        const stats = await inbox.stats();
        const counts = stats.types.filter(({ type }) => type === events.type);
        assert.deepEqual(Object.fromEntries(counts.map(({ state, count }) => [state, count])), {
          ready: 2,
          leased: 1,
        });
        assert.ok(stats.oldestReadyMs !== null && stats.oldestReadyMs >= 0);
        assert.ok(stats.states.ready >= 2);
      }),
  ],
  [
    "deletes done events once their retention is over, and no others",
    (open) =>
      withInbox(open, { retentionMs: 200 }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("done"), events.entry("leased"));
        const taken = await events.take(inbox);
        const done = taken.find(({ id }) => id === "done");
        assert.ok(done !== undefined);
        const { source, id, token } = done;
        await inbox.settle([{ source, id, token, state: "done" }]);
        assert.equal((await inbox.get(done))?.body, null);
        while ((await inbox.get(done)) !== undefined) {
          await inbox.purge();
          await pause(20);
        }
        assert.equal((await inbox.get({ source, id: "leased" }))?.state, "leased");
      }),
  ],
  [
    "says once that it was closed, twice or not, and gives hints of what can be taken",
    async (open) => {
      const inbox = await open({});
      const events = newEvents();
      if (inbox.onHint !== undefined) {
        const hinted = Promise.withResolvers<void>();
        const end = inbox.onHint(hinted.resolve);
        await stored(inbox, events.entry("a"));
        await hinted.promise;
        end();
      }
      await Promise.all([inbox.close(), inbox.close()]);
      await assert.rejects(inbox.put([events.entry("b")]), { code: "store_unavailable" });
    },
  ],
  [
    "keeps its word on `durable`: what was stored is there for the next one who opens it",
    async (open) => {
      const events = newEvents();
      let durable = false;
      await withInbox(open, {}, async (inbox) => {
        durable = inbox.capabilities.durable;
        await stored(inbox, events.entry("a"));
      });
      if (!durable) return;
      await withInbox(open, {}, async (inbox) => {
        assert.deepEqual(idsOf(await events.take(inbox)), ["a"]);
      });
    },
  ],
];

export const inboxStates: readonly InboxScenario[] = [...puts, ...takes, ...operations];
