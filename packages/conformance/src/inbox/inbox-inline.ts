import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { DedupeStore, Inbox, InboxEntry, InboxRoleName } from "@esim-webhooks/core";
import {
  claimedInTime,
  longLeaseMs,
  type OpenOptions,
  type OpenStore,
  withStore,
} from "../store/store-context.ts";
import {
  newEvents,
  type OpenInbox,
  stepCatalog,
  stored,
  type TestEvents,
  takenOne,
  withInbox,
} from "./inbox-context.ts";

/** A scenario for an inbox and a dedupe store on the same data. */
export type InlineScenario = readonly [
  sentence: string,
  needs: readonly InboxRoleName[],
  run: (open: OpenInbox<Inbox>, openStore: OpenStore) => Promise<void>,
];

interface Both {
  readonly inbox: Inbox;
  readonly store: DedupeStore;
  readonly events: TestEvents;
  /** An event. `other` has another body under its id. */
  readonly entry: InboxEntry;
  readonly other: InboxEntry;
}

function withBoth(use: (both: Both) => Promise<void>, options: OpenOptions = {}): InlineScenario[2] {
  return (open, openStore) =>
    withInbox(open, {}, (inbox) =>
      withStore(openStore, options, (store) => {
        const events = newEvents();
        const entry = events.entry("a");
        return use({ inbox, store, events, entry, other: { ...entry, body: Buffer.from("other") } });
      }),
    );
}

function claim(store: DedupeStore, entry: InboxEntry, leaseMs: number = longLeaseMs) {
  return store.claim({ source: entry.source, id: entry.id }, leaseMs, crc32(entry.body));
}

async function claimedFor(store: DedupeStore, entry: InboxEntry, leaseMs?: number): Promise<string> {
  const answer = await claim(store, entry, leaseMs);
  assert.ok(answer.status === "claimed");
  return answer.token;
}

/** Stores, takes and settles the event. */
async function settled(
  { inbox, events }: Both,
  entry: InboxEntry,
  state: "done" | "unhandled" | "dead",
): Promise<void> {
  await stored(inbox, entry);
  const { source, id, token } = await takenOne(events, inbox);
  assert.deepEqual(
    await inbox.settle([{ source, id, token, ...(state === "dead" ? { state, error: "" } : { state }) }]),
    [true],
  );
}

const all: readonly InboxRoleName[] = ["writer", "queue", "admin"];

/** Scenarios for events that are delivered to handlers as well as to an inbox on the same data. */
export const inboxInline: readonly InlineScenario[] = [
  [
    "compares the body of an inline delivery with that of the event in the inbox, in every state",
    all,
    withBoth(async (both) => {
      const { inbox, store, events, entry, other } = both;
      const assertBusy = async (
        inInbox: "waiting" | "dead" | "unhandled",
        own: InboxEntry,
        another: InboxEntry,
      ) => {
        for (const [delivered, conflict] of [
          [own, {}],
          [another, { conflict: true }],
        ] as const) {
          const { retryAfterMs: _, ...answer } = { retryAfterMs: 0, ...(await claim(store, delivered)) };
          assert.deepEqual(answer, { status: "busy", inInbox, ...conflict });
        }
      };
      await stored(inbox, entry);
      await assertBusy("waiting", entry, other);
      const late = await takenOne(events, inbox);
      await assertBusy("waiting", entry, other);
      await inbox.extend([late], 20);
      await pause(50);
      await assertBusy("waiting", entry, other);
      const { source, id, token } = await events.takeInTime(inbox);
      await inbox.settle([{ source, id, token, state: "done" }]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
      assert.deepEqual(await claim(store, other), { status: "done", conflict: true });
      assert.equal((await inbox.get(entry))?.conflicts, 1);
      const [dead, otherDead] = [
        { ...entry, id: "b" },
        { ...other, id: "b" },
      ];
      await settled(both, dead, "dead");
      await assertBusy("dead", dead, otherDead);
      const [unhandled, otherUnhandled] = [
        { ...entry, id: "c" },
        { ...other, id: "c" },
      ];
      await settled(both, unhandled, "unhandled");
      await assertBusy("unhandled", unhandled, otherUnhandled);
      assert.equal((await inbox.get(unhandled))?.state, "unhandled");
    }),
  ],
  [
    "counts an inline delivery of another body once the id is done inline, and none while it is busy",
    all,
    withBoth(async ({ inbox, store, entry, other }) => {
      const token = await claimedFor(store, entry);
      assert.equal((await claim(store, other)).status, "busy"); // the sender tries again
      assert.equal(await store.complete(entry, token), true);
      assert.deepEqual(await claim(store, other), { status: "done", conflict: true });
      assert.equal((await inbox.get(entry))?.conflicts, 1);
      assert.deepEqual(await inbox.put([entry, other]), ["already_stored", "conflict"]);
    }),
  ],
  [
    "stores nothing of an event that is handled inline, whatever its body, and answers busy until the claim is released",
    all,
    withBoth(async ({ inbox, store, events, entry, other }) => {
      const token = await claimedFor(store, entry);
      const [before, after] = [events.entry("before"), events.entry("after")];
      const batch = [before, entry, other, after];
      assert.deepEqual(await inbox.put(batch), ["stored", "busy", "busy", "stored"]);
      assert.deepEqual((await events.take(inbox)).map(({ id }) => id).sort(), ["after", "before"]);
      assert.equal(await store.release(entry, token), true);
      await stored(inbox, entry);
      const taken = await takenOne(events, inbox);
      assert.deepEqual([Buffer.from(taken.body), taken.attempt], [Buffer.from(entry.body), 1]);
    }),
  ],
  [
    "answers each of many puts and claims of an id so that one of them has it",
    all,
    withBoth(async ({ inbox, store, events }) => {
      for (const entry of Array.from({ length: 10 }, (_, n) => events.entry(`race ${n}`))) {
        const [claims, puts] = await Promise.all([
          Promise.all(Array.from({ length: 4 }, () => claim(store, entry))),
          Promise.all(Array.from({ length: 4 }, () => inbox.put([entry]))),
        ]);
        const claimed = claims.filter(({ status }) => status === "claimed").length;
        const results = puts.flat().sort();
        assert.deepEqual(
          [claimed, ...results],
          claimed === 1
            ? [1, "busy", "busy", "busy", "busy"]
            : [0, "already_stored", "already_stored", "already_stored", "stored"],
        );
      }
    }),
  ],
  [
    "stores an event whose inline claim has ended, with any body, as if there had been none",
    all,
    withBoth(async ({ inbox, store, events, entry, other }) => {
      const late = await claimedFor(store, entry, 30);
      const deadline = performance.now() + 10_000;
      while ((await inbox.put([other]))[0] === "busy") assert.ok(performance.now() < deadline);
      assert.equal(await store.complete(entry, late), false);
      assert.equal(await store.release(entry, late), false);
      const taken = await takenOne(events, inbox);
      assert.deepEqual([Buffer.from(taken.body), taken.attempt], [Buffer.from(other.body), 1]);
    }),
  ],
  [
    "runs an event that was done inline once per run when an import reruns it",
    [...all, "rerun"],
    withBoth(async (both) => {
      const { inbox, store, events, entry } = both;
      const token = await claimedFor(store, entry);
      const imported = { ...entry, replay: { run: "import 1", rebuilt: true } };
      assert.deepEqual(await inbox.rerun([imported]), [false]);
      await store.complete(entry, token);
      assert.deepEqual(await inbox.put([imported]), ["already_stored"]);
      assert.deepEqual(await inbox.rerun([imported]), [true]);
      const taken = await takenOne(events, inbox);
      assert.equal(taken.replayed, true);
      await inbox.settle([{ source: taken.source, id: taken.id, token: taken.token, state: "done" }]);
      assert.deepEqual(await inbox.rerun([imported]), [false]);
    }),
  ],
  [
    "lists and counts no id that is or was handled inline, and finds it by its key until its retention has ended",
    all,
    withBoth(
      async ({ inbox, store, entry }) => {
        const { source, id } = entry;
        const filter = { source, ids: [id] };
        const assertUnlisted = async (state: "leased" | "done") => {
          assert.equal((await inbox.get(entry))?.state, state);
          assert.deepEqual((await inbox.list(filter)).rows, []);
          assert.equal(await inbox.count(filter), 0);
        };
        const token = await claimedFor(store, entry);
        await assertUnlisted("leased");
        assert.equal(await store.complete(entry, token), true);
        await assertUnlisted("done");
        await claimedInTime(store, { source, id }, longLeaseMs);
        const row = await inbox.get(entry);
        assert.deepEqual([row?.state, row?.settledAt], ["leased", null]);
      },
      { retentionMs: 1000 },
    ),
  ],
  [
    "answers busy to an inline claim of an event of a paused type, which may be tried again soon",
    all,
    withBoth(async ({ inbox, store, events, entry }) => {
      await stored(inbox, entry);
      const types = [events.type];
      await inbox.pause({ types, reason: "the CRM is down", catalog: stepCatalog(events.type) });
      try {
        const claimed = await claim(store, entry);
        assert.ok(claimed.status === "busy");
        assert.ok(claimed.retryAfterMs <= 1000, `${claimed.retryAfterMs}`);
      } finally {
        await inbox.resume({ types });
      }
    }),
  ],
  [
    "states the sources of all ids, of events and of claims, if it can",
    ["writer"],
    withBoth(async ({ inbox, store, events, entry }) => {
      await stored(inbox, ...Array.from({ length: 1200 }, (_, n) => events.entry(`msg_${n}`)));
      const other = { ...entry, id: "z", source: `z other ${events.source}` }; // sorts after the rest, by each part of its key
      const claimedSource = `z claimed ${events.source}`;
      await stored(inbox, other);
      await store.claim({ source: claimedSource, id: "z" }, longLeaseMs);
      for (const held of [await inbox.sources?.(), await store.sources?.()]) {
        if (held === undefined) continue;
        for (const source of [events.source, other.source, claimedSource])
          assert.equal(held.filter((name) => name === source).length, 1);
      }
    }),
  ],
  [
    "compares no body that was rebuilt from a dump with a signed one",
    all,
    withBoth(async (both) => {
      const { store, entry, other, inbox } = both;
      await settled(both, { ...other, replay: { run: "first", rebuilt: true } }, "done");
      assert.deepEqual(await inbox.put([entry]), ["already_stored"]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
    }),
  ],
];
