import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { crc32 } from "node:zlib";
import type { DedupeStore, Inbox, InboxEntry, InboxRoleName } from "@esim-webhooks/core";
import { longLeaseMs, type OpenStore, withStore } from "../store/store-context.ts";
import { newEvents, type OpenInbox, stored, type TestEvents, takenOne, withInbox } from "./inbox-context.ts";

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

function withBoth(use: (both: Both) => Promise<void>): InlineScenario[2] {
  return (open, openStore) =>
    withInbox(open, {}, (inbox) =>
      withStore(openStore, {}, (store) => {
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
      assert.deepEqual(await inbox.put([entry, other]), ["duplicate", "conflict"]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
    }),
  ],
  [
    "claims an unhandled event inline, and gives it back to workers if that fails",
    all,
    withBoth(async (both) => {
      const { inbox, store, events, entry } = both;
      await settled(both, entry, "unhandled");
      await store.release(entry, await claimedFor(store, entry));
      assert.deepEqual(Buffer.from((await takenOne(events, inbox)).body), Buffer.from(entry.body));
      assert.deepEqual(await inbox.put([entry]), ["duplicate"]);
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
      const { source, id, token } = await takenOne(events, inbox);
      await assertBusy("waiting", entry, other);
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
    "compares the body of a put with that of the event that is worked inline, and keeps it if they are the same",
    all,
    withBoth(async ({ inbox, store, events, entry, other }) => {
      const token = await claimedFor(store, entry);
      assert.deepEqual(await inbox.put([other]), ["conflict"]);
      assert.deepEqual(await inbox.put([entry]), ["stored"]);
      assert.equal(await store.release(entry, token), true);
      assert.deepEqual(Buffer.from((await takenOne(events, inbox)).body), Buffer.from(entry.body));
    }),
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
      assert.deepEqual(await inbox.put([rebuilt]), ["duplicate"]);
      assert.deepEqual(await claim(store, entry), { status: "done" });
    }),
  ],
];
