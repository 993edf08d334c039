import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { eraseSubject, type InboxEntry, type InboxState } from "@esim-webhooks/core";
import {
  type InboxScenario,
  idsOf,
  newEvents,
  stored,
  type TestEvents,
  takenOne,
  withInbox,
} from "./inbox-context.ts";

const none: Readonly<Record<InboxState, number>> = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const hourMs = 3_600_000;

/** An eSIM, and its events. */
function newEsim({ entry }: TestEvents, secret = ""): { reference: string; about(id: string): InboxEntry } {
  const reference = `esim_${randomUUID()}`;
  return {
    reference,
    about: (id) =>
      entry(id, {
        trace,
        key: "key:1a2b3c4d",
        timestamp: "2026-01-01T00:00:00Z", // so that it is the same body each time
        data: { esimReference: reference, secret },
      }),
  };
}

/** Scenarios for the events of one eSIM: finding and erasing them. */
export const inboxErasing: readonly InboxScenario[] = [
  [
    "lists, counts and redrives the events of one eSIM, in every state",
    ["writer", "queue", "admin", "filters"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const [one, other] = [newEsim(events), newEsim(events)];
        await stored(inbox, ...["a", "b", "c", "d"].map(one.about), ...["e", "f"].map(other.about));
        const taken = await events.take(inbox);
        const [a, b, e] = ["a", "b", "e"].map((id) => taken.find((each) => each.id === id));
        assert.ok(a && b && e);
        await inbox.settle([
          { ...a, state: "done" },
          { ...b, state: "dead", error: "no" },
          { ...e, state: "dead", error: "no" },
        ]);
        const { rows } = await inbox.list({ subject: one.reference });
        assert.deepEqual(idsOf(rows).sort(), ["a", "b", "c", "d"]);
        assert.equal(await inbox.count({ subject: one.reference }), 4);
        assert.equal(await inbox.count({ subject: one.reference, state: "leased" }), 2);
        assert.equal(await inbox.count({ subject: one.reference }, 3), 3);
        assert.equal(await inbox.redrive({ subject: one.reference }), 1);
        assert.deepEqual(idsOf(await events.take(inbox)), ["b"]);
      }),
  ],
  [
    "erases the personal data of an eSIM's events in every state, and of no others",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const secret = `8932042${randomUUID()}`;
        const [one, other] = [newEsim(events, secret), newEsim(events)];
        const entries = ["ready", "later", "leased", "done", "unhandled", "dead"].map(one.about);
        await stored(inbox, ...entries, other.about("other"));
        const taken = await events.take(inbox);
        const lease = (id: string) => {
          const found = taken.find((each) => each.id === id);
          assert.ok(found);
          return found;
        };
        const report = {
          reason: "failed",
          durationMs: 1,
          error: `no ${secret}`,
          worker: "host:1:a",
        } as const;
        await inbox.settle([
          { ...lease("later"), state: "retry", afterMs: hourMs, error: `no ${secret}`, report },
          { ...lease("done"), state: "done" },
          { ...lease("unhandled"), state: "unhandled" },
          { ...lease("dead"), state: "dead", error: `no ${secret}`, report },
          { ...lease("ready"), state: "given_back" },
          { ...lease("other"), state: "given_back" },
        ]);
        const before = await Promise.all(entries.map((entry) => inbox.get(entry)));

        const { events: erased, notReached } = await eraseSubject(inbox, one.reference);
        assert.deepEqual(erased, { ready: 2, leased: 1, done: 1, unhandled: 1, dead: 1 });
        assert.ok(notReached.length > 0);
        for (const [index, entry] of entries.entries()) {
          const event = await inbox.get(entry);
          assert.ok(event?.erasedAt, entry.id);
          const { state, error, body, subject, lane, trace, history, stack } = event;
          assert.deepEqual(
            { state, error, body, subject, lane, trace, history, stack },
            {
              state: "done",
              error: "erased",
              body: null,
              subject: null,
              lane: null,
              trace: null,
              history: [],
              stack: null,
            },
            entry.id,
          );
          const { id, type, receivedAt, attempts } = event;
          assert.deepEqual(
            [id, type, receivedAt],
            [before[index]?.id, before[index]?.type, before[index]?.receivedAt],
          );
          assert.ok(attempts <= 1);
        }
        assert.equal(
          JSON.stringify(await Promise.all(entries.map((entry) => inbox.get(entry)))).includes(secret),
          false,
        );
        assert.deepEqual(await inbox.settle([{ ...lease("leased"), state: "done" }]), [false]);
        assert.deepEqual((await eraseSubject(inbox, one.reference)).events, none);
        assert.deepEqual(idsOf(await events.take(inbox)), ["other"]);
        assert.equal((await inbox.get(other.about("other")))?.subject, other.reference);
      }),
  ],
  [
    "finds and erases a dead event whose body does not match its schema",
    ["writer", "queue", "admin", "filters"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const esim = newEsim(events);
        const invalid = { ...esim.about("a"), event: null };
        await stored(inbox, invalid);
        await inbox.settle([{ ...(await takenOne(events, inbox)), state: "dead", error: "invalid" }]);
        assert.deepEqual(idsOf((await inbox.list({ subject: esim.reference })).rows), ["a"]);
        assert.equal((await eraseSubject(inbox, esim.reference)).events.dead, 1);
        assert.equal((await inbox.get(invalid))?.body, null);
      }),
  ],
  [
    "finds and erases the events of what the option subject returns, with any schema, and of nothing else",
    ["writer", "admin"],
    (open) =>
      withInbox(open, { subject: ({ account }, type) => type && account }, async (inbox) => {
        const events = newEvents();
        const account = randomUUID();
        const about = (id: string, data: unknown) => events.entry(id, { data });
        const [valid, invalid] = [about("a", { account }), { ...about("b", { account }), event: null }];
        const others = [{ esimReference: account }, { account: 7 }, { account: "x".repeat(201) }, null];
        const kept = others.map((data, n) => about(`kept_${n}`, data));
        await stored(inbox, valid, invalid, ...kept);
        assert.equal((await inbox.get(valid))?.subject, account);
        assert.equal((await eraseSubject(inbox, account)).events.ready, 2);
        for (const { id, source } of [valid, invalid]) assert.ok((await inbox.get({ source, id }))?.erasedAt);
        for (const entry of kept) assert.ok((await inbox.get(entry))?.body);
      }),
  ],
  [
    "answers duplicate to a redelivery of an erased event, and keeps nothing of it",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const esim = newEsim(events);
        await stored(inbox, esim.about("a"));
        await inbox.erase(esim.reference);
        assert.deepEqual(await inbox.put([esim.about("a")]), ["already_stored"]);
        const event = await inbox.get(esim.about("a"));
        assert.deepEqual([event?.body, event?.subject, event?.state], [null, null, "done"]);
        assert.deepEqual(await events.take(inbox), []);
      }),
  ],
  [
    "does not run an erased event again for an import, not even for a forced one",
    ["writer", "queue", "admin", "rerun"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        const events = newEvents();
        const esim = newEsim(events);
        const imported = {
          ...esim.about("a"),
          replay: { run: "first", rebuilt: true, delivery: { status: "x" } },
        };
        await stored(inbox, imported);
        await inbox.erase(esim.reference);
        assert.deepEqual((await inbox.get(imported))?.replay, { run: "first", rebuilt: true });
        assert.deepEqual(await inbox.rerun([{ ...imported, replay: { run: "second", rebuilt: true } }]), [
          false,
        ]);
        assert.equal((await inbox.get(imported))?.body, null);
      }),
  ],
  [
    "erases every event, even while workers settle them",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, {}, async (inbox) => {
        for (let round = 0; round < 3; round += 1) {
          const events = newEvents();
          const esim = newEsim(events);
          const entries = Array.from({ length: 40 }, (_, n) => esim.about(`msg_${n}`));
          await stored(inbox, ...entries);
          const taken = await events.take(inbox, 20);
          const [{ events: erased }, settled] = await Promise.all([
            eraseSubject(inbox, esim.reference),
            Promise.all(taken.map((one) => inbox.settle([{ ...one, state: "dead", error: "no" }]))),
          ]);
          const again = await eraseSubject(inbox, esim.reference);
          const count = (state: InboxState) => erased[state] + again.events[state];
          assert.equal(count("ready") + count("leased") + count("dead"), 40);
          assert.equal(settled.flat().filter((isSettled) => isSettled).length, count("dead"));
          for (const entry of entries) assert.equal((await inbox.get(entry))?.body, null);
        }
      }),
  ],
  [
    "refuses to erase without a reference",
    ["admin"],
    (open) =>
      withInbox(open, {}, (inbox) => assert.rejects(eraseSubject(inbox, ""), { code: "invalid_input" })),
  ],
  [
    "counts the time of a dead event's body from its end, not from when it was received",
    ["writer", "queue", "admin", "bodyRetention"],
    (open) =>
      withInbox(open, { bodyRetentionMs: 3_600_000 }, async (inbox) => {
        const events = newEvents();
        const entry = { ...events.entry("a"), receivedAt: new Date(Date.now() - 7_200_000) };
        await stored(inbox, entry);
        await inbox.settle([{ ...(await takenOne(events, inbox)), state: "dead", error: "no" }]);
        await inbox.purge();
        assert.notEqual((await inbox.get(entry))?.body, null);
      }),
  ],
  [
    "removes the body of a dead event after its time, and does not redrive it then",
    ["writer", "queue", "admin", "bodyRetention"],
    (open) =>
      withInbox(open, { bodyRetentionMs: 50 }, async (inbox) => {
        const events = newEvents();
        const entry = events.entry("a");
        await stored(inbox, entry);
        await inbox.settle([{ ...(await takenOne(events, inbox)), state: "dead", error: "no" }]);
        while ((await inbox.get(entry))?.body !== null) {
          await inbox.purge();
          await pause(20);
        }
        const event = await inbox.get(entry);
        assert.deepEqual([event?.state, event?.error, event?.erasedAt], ["dead", "no", null]);
        assert.equal(await inbox.redrive({ source: events.source }), 0);
        assert.deepEqual(await inbox.put([entry]), ["already_stored"]);
      }),
  ],
];

/** Scenarios for erasing in lanes. */
export const erasingInLanes: readonly InboxScenario[] = [
  [
    "releases the lanes of erased events",
    ["writer", "queue", "admin"],
    (open) =>
      withInbox(open, { lane: () => "one" }, async (inbox) => {
        const events = newEvents();
        const esim = newEsim(events);
        await stored(inbox, esim.about("a"));
        const held = await takenOne(events, inbox);
        await stored(inbox, events.entry("b"));
        assert.deepEqual(await events.take(inbox), []);
        await inbox.erase(esim.reference);
        assert.deepEqual(idsOf(await events.take(inbox)), ["b"]);
        assert.deepEqual(await inbox.settle([{ ...held, state: "done" }]), [false]);
      }),
  ],
];
