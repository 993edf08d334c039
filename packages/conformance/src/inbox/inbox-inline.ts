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
  /** An event, and another body under its id. */
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

/** Stores the event, and has a worker settle it. */
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
    "never works another body inline in place of an unhandled event, which stays, and counts it",
    all,
    withBoth(async (both) => {
      const { inbox, store, entry, other } = both;
      await settled(both, entry, "unhandled");
      assert.deepEqual(await claim(store, other), { status: "done", conflict: true });
      const row = await inbox.get(entry);
      assert.equal(row?.state, "unhandled");
      assert.equal(row?.conflicts, 1);
      assert.deepEqual(Buffer.from(row?.body ?? []), Buffer.from(entry.body));
      const token = await claimedFor(store, entry);
      assert.equal(await store.complete(entry, token), true);
      assert.deepEqual(await inbox.put([entry, other]), ["already_stored", "conflict"]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
    }),
  ],
  [
    "claims an unhandled event inline once, and gives it back to workers if that fails or its lease ends",
    all,
    withBoth(async (both) => {
      const { inbox, store, events, entry } = both;
      await settled(both, entry, "unhandled");
      const claims = await Promise.all(Array.from({ length: 4 }, () => claim(store, entry)));
      assert.deepEqual(claims.map(({ status }) => status).sort(), ["busy", "busy", "busy", "claimed"]);
      assert.deepEqual(await events.take(inbox), []);
      for (const one of claims) if (one.status === "claimed") await store.release(entry, one.token);
      assert.deepEqual(Buffer.from((await takenOne(events, inbox)).body), Buffer.from(entry.body));
      assert.deepEqual(await inbox.put([entry]), ["already_stored"]);
      const abandoned = { ...entry, id: "b" };
      await settled(both, abandoned, "unhandled");
      await claimedFor(store, abandoned, 30);
      assert.equal((await events.takeInTime(inbox)).id, "b");
    }),
  ],
  [
    "compares the body of an inline delivery with that of the event in the inbox, in every state",
    all,
    withBoth(async (both) => {
      const { inbox, store, events, entry, other } = both;
      const assertBusy = async (inInbox: "waiting" | "dead", own: InboxEntry, another: InboxEntry) => {
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
    "compares the body of a put with that of the event that is worked inline, and keeps it if they are the same",
    all,
    withBoth(async ({ inbox, store, events, entry, other }) => {
      const token = await claimedFor(store, entry);
      assert.deepEqual(await inbox.put([other]), ["conflict"]);
      const [before, after] = [events.entry("before"), events.entry("after")];
      const batch = [before, entry, other, after];
      assert.deepEqual(await inbox.put(batch), ["stored", "stored", "conflict", "stored"]);
      assert.deepEqual((await events.take(inbox)).map(({ id }) => id).sort(), ["after", "before"]);
      assert.equal(await store.release(entry, token), true);
      const taken = await takenOne(events, inbox);
      assert.deepEqual([Buffer.from(taken.body), taken.attempt], [Buffer.from(entry.body), 1]);
    }),
  ],
  [
    "gives workers an event that was put during an inline claim whose lease has ended",
    all,
    withBoth(async ({ inbox, store, events, entry }) => {
      await claimedFor(store, entry, 100);
      await inbox.put([entry]);
      assert.deepEqual(Buffer.from((await events.takeInTime(inbox)).body), Buffer.from(entry.body));
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
    "keeps the replay of an event that an import puts during an inline claim, until a claim after the retention",
    all,
    withBoth(
      async ({ inbox, store, entry }) => {
        const token = await claimedFor(store, entry);
        const imported = { ...entry, replay: { run: "import 1", rebuilt: true } };
        assert.deepEqual(await inbox.put([imported]), ["stored"]);
        assert.deepEqual((await inbox.get(entry))?.replay, imported.replay);
        assert.equal(await store.complete(entry, token), true);
        assert.deepEqual((await inbox.get(entry))?.replay, imported.replay);
        await claimedInTime(store, { source: entry.source, id: entry.id }, longLeaseMs);
        assert.equal((await inbox.get(entry))?.replay, null);
      },
      { retentionMs: 50 },
    ),
  ],
  [
    "stores another body than that of an inline claim that has ended",
    all,
    withBoth(async ({ inbox, store, events, entry, other }) => {
      await claimedFor(store, entry, 30);
      await pause(100);
      assert.deepEqual(await inbox.put([other]), ["stored"]);
      const taken = await events.takeInTime(inbox);
      assert.deepEqual(Buffer.from(taken.body), Buffer.from(other.body));
    }),
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
      const other = { ...entry, id: "z", source: `z other ${events.source}` }; // behind the rest, by each part of its key
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
      const rebuilt = { ...other, replay: { run: "first", rebuilt: true } };
      await settled(both, rebuilt, "unhandled");
      const token = await claimedFor(store, entry);
      assert.equal(await store.complete(entry, token), true);
      assert.deepEqual(await inbox.put([rebuilt]), ["already_stored"]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
    }),
  ],
];
