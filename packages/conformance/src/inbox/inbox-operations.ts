import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { StoredEvent } from "@esim-webhooks/core";
import { type InboxScenario, idsOf, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";

const dayMs = 86_400_000;

/** Scenarios for the operators' role. */
export const inboxOperations: readonly InboxScenario[] = [
  [
    "lists events by state, type, source, id and time, newest first, page by page",
    ["writer", "admin", "filters"],
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
    "counts events by state and type, and states how long the oldest due event has waited",
    ["writer", "queue", "admin"],
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
    "states when the last delivery was received, even if events were imported since",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { receivedAt } = events.entry("a");
        const imported = new Date("2999-01-01T00:00:00Z");
        await stored(inbox, events.entry("a", { receivedAt }));
        await stored(inbox, events.entry("b", { receivedAt: imported, replay: { run: "a", rebuilt: true } }));
        const { lastReceivedAt } = await inbox.stats();
        assert.ok(lastReceivedAt !== null && lastReceivedAt >= receivedAt && lastReceivedAt < imported);
      }),
  ],
  [
    "counts the same events as a list with the same filter",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { source, type } = events;
        const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
        await stored(
          inbox,
          ...Array.from({ length: 60 }, (_, n) => events.entry(`msg_${n}`, { receivedAt: at(n) })),
        );
        const taken = await events.take(inbox, 10);
        const [died, ...worked] = taken;
        assert.ok(died !== undefined);
        await inbox.settle([
          { ...died, state: "dead", error: "Error: 100% of 7_000 orders\nwere refused" },
          ...worked.map((one) => ({ ...one, state: "done" }) as const),
        ]);
        const counts = [
          [60, {}],
          [50, { state: "ready" }],
          [9, { state: "done" }],
          [1, { state: "dead" }],
          [1, { error: "100% of 7_000" }],
          [1, { state: "dead", error: "orders\nwere" }],
          [0, { state: "ready", error: "orders" }],
          [0, { error: "100%7_000" }],
          [0, { error: "ORDERS" }],
          [20, { since: at(10), until: at(30) }],
          [2, { ids: ["msg_1", "msg_2", "none"] }],
          [11, { idPrefix: "msg_1" }],
          [0, { idPrefix: "m_g" }],
          [0, { state: "done", expiredBy: at(0) }],
          [9, { state: "done", expiredBy: new Date("2999-01-01T00:00:00Z") }],
        ] as const;
        for (const [expected, filter] of counts) {
          assert.equal(await inbox.count({ source, types: [type], ...filter }), expected);
          const { rows } = await inbox.list({ source, types: [type], ...filter }, { limit: 100 });
          assert.equal(rows.length, expected);
        }
        assert.equal(await inbox.count({ source: `no ${source}` }), 0);
        assert.ok((await inbox.count()) >= 60);
      }),
  ],
  [
    "omits bodies and stacks in a list, and returns both in get",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const { rows } = await inbox.list({ source: events.source, ids: ["a"] });
        const { body, stack, ...row } = (await inbox.get(entry)) ?? ({} as Partial<StoredEvent>);
        const { key, trace, heldBy, takenAt, erasedAt, history, ...listed } = row;
        assert.deepEqual(rows, [listed]);
        assert.deepEqual([stack, erasedAt, heldBy], [null, null, null]);
        assert.deepEqual(Buffer.from(body ?? []), Buffer.from(entry.body));
      }),
  ],
  [
    "lists events that were received at the same time by id and source, each once, across pages",
    ["writer", "admin", "filters"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const [one, other] = [newEvents(), newEvents()];
        const receivedAt = new Date("2026-01-01T00:00:00Z");
        const names = ["b", "a", "\u00e9", "C", "aa"];
        await stored(
          inbox,
          ...names.map((id) => one.entry(id, { receivedAt })),
          ...names.map((id) => ({ ...other.entry(id, { receivedAt }), type: one.type })),
        );
        const seen: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await inbox.list(
            { types: [one.type] },
            { limit: 3, ...(cursor !== undefined && { cursor }) },
          );
          seen.push(...page.rows.map(({ id, source }) => `${id} ${source}`));
          if (page.nextCursor === null) {
            assert.equal(page.searchedTo, null);
            break;
          }
          assert.deepEqual(page.searchedTo, receivedAt);
          cursor = page.nextCursor;
        }
        const sources = [one.source, other.source].sort().reverse();
        const expected = ["\u00e9", "b", "aa", "a", "C"].flatMap((id) =>
          sources.map((source) => `${id} ${source}`),
        );
        assert.deepEqual(seen, expected);
      }),
  ],
  [
    "refuses a cursor that no page returned",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const ofAnother = JSON.stringify({ receivedAt: "soon", source: "default", id: "msg_1" });
        const json = ["null", ofAnother].map((text) => Buffer.from(text).toString("base64url"));
        for (const cursor of ["x", "", "e30", ...json])
          await assert.rejects(inbox.list({}, { cursor }), { name: "WebhookError", code: "invalid_input" });
      }),
  ],
  [
    "deletes done events once their retention has expired, and no others",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { retentionMs: 200 }, async (inbox) => {
        const events = newEvents();
        await stored(inbox, events.entry("done"), events.entry("leased"));
        const taken = await events.take(inbox);
        const done = taken.find(({ id }) => id === "done");
        assert.ok(done !== undefined);
        const { source, id, token } = done;
        await inbox.settle([{ source, id, token, state: "done" }]);
        while ((await inbox.get(done)) !== undefined) {
          await inbox.purge();
          await pause(20);
        }
        assert.equal((await inbox.get({ source, id: "leased" }))?.state, "leased");
      }),
  ],
  [
    "keeps what is done or unhandled for the retention at least, and what several calls settle does not expire all at the same time",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { retentionMs: 10 * dayMs }, async (inbox) => {
        const events = newEvents();
        const keptMs: number[] = [];
        for (let call = 0; call < 16; call += 1) {
          const entry = events.entry(`msg_${call}`);
          await stored(inbox, entry);
          const dueAt = (await inbox.get(entry))?.dueAt; // the inbox's own time
          const lease = await takenOne(events, inbox);
          await inbox.settle([{ ...lease, state: call % 2 === 0 ? "done" : "unhandled" }]);
          const keptUntil = (await inbox.get(entry))?.keptUntil;
          assert.ok(dueAt && keptUntil);
          keptMs.push(keptUntil.getTime() - dueAt.getTime());
        }
        assert.ok(Math.min(...keptMs) >= 10 * dayMs);
        assert.ok(Math.max(...keptMs) - Math.min(...keptMs) > 60_000);
      }),
  ],
  [
    "deletes no more events in one purge than its limit",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { retentionMs: 20 }, async (inbox) => {
        const events = newEvents();
        const { source } = events;
        await stored(inbox, ...Array.from({ length: 7 }, (_, n) => events.entry(`msg_${n}`)));
        const taken = await events.take(inbox);
        await inbox.settle(taken.map(({ id, token }) => ({ source, id, token, state: "done" })));
        for (let left = 7; left > 0; ) {
          const purged = await inbox.purge(3);
          assert.ok(purged <= 3);
          const now = await inbox.count({ source });
          assert.ok(left - now <= purged);
          left = now;
          await pause(20);
        }
      }),
  ],
  [
    "gives a hint when there may be work, can be closed twice, and then rejects",
    ["writer"],
    async (open) => {
      const inbox = await open({});
      const events = newEvents();
      if (inbox.onHint !== undefined) {
        const hinted = Promise.withResolvers<void>();
        const unsubscribe = inbox.onHint(hinted.resolve);
        await stored(inbox, events.entry("a"));
        await hinted.promise;
        unsubscribe();
      }
      await Promise.all([inbox.close(), inbox.close()]);
      await assert.rejects(inbox.put([events.entry("b")]), { code: "store_unavailable" });
    },
  ],
  [
    "stores an event although a listener of its hints throws",
    ["writer"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const hinted = Promise.withResolvers<void>();
        const unsubscribe = inbox.onHint?.(() => {
          hinted.resolve();
          throw new Error("the listener's own mistake");
        });
        if (unsubscribe === undefined) return;
        await stored(inbox, newEvents().entry("a"));
        await hinted.promise;
        unsubscribe();
      }),
  ],
  [
    "still has a stored event when it is opened again, if it is `durable`",
    ["writer", "queue"],
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
