import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { EventKey, PutResult } from "@esim-webhooks/core";
import { longestId } from "../base/longest-id.ts";
import { type InboxScenario, newEvents, stored, takenOne, withInbox } from "./inbox-context.ts";

/** Scenarios for the role that accepts events. */
export const inboxPuts: readonly InboxScenario[] = [
  [
    "keeps every body byte for byte",
    ["writer", "queue"],
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
    "keeps its own copy of an entry",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const receivedAt = new Date("2026-01-01T00:00:00Z");
        const replay = { run: "first", rebuilt: false };
        const entry = newEvents().entry("a", { body: Buffer.from("first"), receivedAt, replay });
        await stored(inbox, entry);
        entry.body.fill(0);
        receivedAt.setTime(0);
        replay.run = "other";
        const kept = await inbox.get(entry);
        assert.equal(Buffer.from(kept?.body ?? []).toString(), "first");
        assert.deepEqual(kept?.receivedAt, new Date("2026-01-01T00:00:00Z"));
        assert.equal(kept?.replay?.run, "first");
      }),
  ],
  [
    "answers one to one, in order: stored, duplicate, or conflict for the same id with another body, which is not kept",
    ["writer", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const [a, b] = [events.entry("a"), events.entry("b")];
        const other = events.entry("a", { body: Buffer.from("other") });
        assert.deepEqual(await inbox.put([a, b, a]), ["stored", "stored", "already_stored"]);
        assert.deepEqual(await inbox.put([b, other, events.entry("c"), a]), [
          "already_stored",
          "conflict",
          "stored",
          "already_stored",
        ]);
        const row = await inbox.get(a);
        assert.deepEqual(Buffer.from(row?.body ?? []), Buffer.from(a.body));
        const twice = [events.entry("d"), events.entry("d", { body: Buffer.from("other") })];
        assert.deepEqual(await inbox.put(twice), ["stored", "conflict"]);
        assert.deepEqual(await inbox.put([]), []);
      }),
  ],
  [
    "answers one to one for a batch of any size, of which a part is known, repeated, or known in another source",
    ["writer"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const sources = [randomUUID(), randomUUID()];
        const timestamp = "2026-01-01T00:00:00Z"; // so that a repeated event has the same body
        for (const size of [15, 16, 17, 50]) {
          const known = new Set<string>();
          const resultOf = ({ source, id }: EventKey): PutResult => {
            const key = `${source} ${id}`;
            if (known.has(key)) return "already_stored";
            known.add(key);
            return "stored";
          };
          // the second batch has each id in both sources, and the third one repeats its own first events at its end
          for (const numberOf of [
            (n: number) => 2 * n,
            (n: number) => n,
            (n: number) => size + ((11 * n) % Math.ceil(0.8 * size)),
          ]) {
            const entries = Array.from({ length: size }, (_, n) => {
              const number = numberOf(n);
              const id = `of_${size}_${Math.floor(number / 2)}`;
              return events.entry(id, { timestamp, source: sources[number % 2] ?? "" });
            });
            assert.deepEqual(await inbox.put(entries), entries.map(resultOf));
          }
        }
      }),
  ],
  [
    "counts the deliveries of an event that had another body",
    ["writer", "admin", "filters"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const [entry, other] = [events.entry("a"), events.entry("a", { body: Buffer.from("other") })];
        assert.deepEqual(await inbox.put([entry, entry, other]), ["stored", "already_stored", "conflict"]);
        assert.equal((await inbox.get(entry))?.conflicts, 1);
      }),
  ],
  [
    "distinguishes a duplicate from a conflict by the body, also for a done event",
    ["writer", "queue"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        const { source, id, token } = await takenOne(events, inbox);
        assert.deepEqual(await inbox.settle([{ source, id, token, state: "done" }]), [true]);
        assert.deepEqual(await inbox.put([entry]), ["already_stored"]);
        assert.deepEqual(await inbox.put([{ ...entry, body: Buffer.from("other") }]), ["conflict"]);
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
  [
    "stores each id once when many concurrent calls put them in any order",
    ["writer"],
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
        assert.equal(results.filter((result) => result === "already_stored").length, 19 * entries.length);
      }),
  ],
  [
    "keeps apart the same id of two sources, and keeps odd ids, types and times exactly",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const { source } = events;
        await stored(
          inbox,
          events.entry("b:c", { source: `${source}a` }),
          events.entry("c", { source: `${source}a:b` }),
          ...[" ", "7", "'\";--", "🦓", "a, b", "é".repeat(512), longestId].map((id) => events.entry(id)),
          events.entry("null", { type: null, event: null }),
          events.entry("nul", { type: "a\0b" }),
          events.entry("old", { timestamp: "0001-01-01T00:00:00Z" }),
          events.entry("far", { timestamp: "9999-12-31T23:59:59.999+14:00" }),
        );
        assert.equal((await events.take(inbox)).length, 11);
        for (const state of ["ready"] as const) {
          const { rows } = await inbox.list({ state, source, ids: ["null", "nul"] });
          assert.equal(rows.length, 2);
        }
      }),
  ],
  [
    "stores large events and events with an invalid timestamp, along with those put at the same time",
    ["writer"],
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
    "refuses an entry that it cannot store, but stores those put at the same time",
    ["writer"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const refused = { name: "WebhookError", code: "invalid_input" };
        const good = inbox.put([events.entry("good")]);
        await assert.rejects(inbox.put([events.entry("a\0b")]), refused);
        await assert.rejects(inbox.put([events.entry("x".repeat(3000))]), refused);
        await assert.rejects(inbox.put([events.entry("a\ud800")]), refused);
        await assert.rejects(inbox.put([events.entry("\ude00b", { source: "a\ud83d" })]), refused);
        await assert.rejects(inbox.put([events.entry("a", { receivedAt: new Date(Number.NaN) })]), refused);
        assert.deepEqual(await good, ["stored"]);
      }),
  ],
];
