import assert from "node:assert/strict";
import type { Claim, DedupeStore, EventKey } from "@esim-webhooks/core";
import { longestId } from "../base/longest-id.ts";
import {
  assertBusy,
  claimed,
  claimedInTime,
  longLeaseMs,
  newKey,
  type StoreScenario,
  withStore,
} from "./store-context.ts";

const oddIds = [
  ":",
  "a:b:c",
  "7:default:msg",
  "0",
  "12345678901234567890",
  " ",
  "a,b",
  "with two  spaces ",
  "{tag}",
  "%s $1 ' \" ; --",
  "žluťoučký 🦓 \u202e",
  "é",
  "e\u0301",
  "Msg",
  "msg",
  longestId,
  `${longestId.slice(0, -1)}b`,
  "x".repeat(1024),
];

/** Scenarios for ids that look alike, and are different. */
export const storeIds: readonly StoreScenario[] = [
  [
    "keeps the same id of another source apart",
    (open) =>
      withStore(open, {}, async (store) => {
        const { source } = newKey();
        const pairs = [
          ["a", "b:c"],
          ["a:b", "c"],
          ["a:b:c", ""],
          ["1", "1:a"],
          ["", "a:b:c"],
        ] as const;
        const keys = pairs.map(([part, id]) => ({ source: `${source}${part}`, id }));
        const tokens = await Promise.all(keys.map((key) => claimed(store, key)));
        assert.equal(new Set(tokens).size, keys.length);
        const [first, second] = keys;
        assert.ok(first !== undefined && second !== undefined);
        assert.equal(await store.complete(first, tokens[0] ?? ""), true);
        await assertBusy(store, second, longLeaseMs);
      }),
  ],
  [
    "keeps ids exactly: colons, digits, spaces, quotes, commas, unicode, 1,024 characters",
    (open) =>
      withStore(open, {}, async (store) => {
        const { source } = newKey();
        for (const id of oddIds) await store.complete({ source, id }, await claimed(store, { source, id }));
        for (const id of oddIds)
          assert.deepEqual(await store.claim({ source, id }, 1000), { status: "done" });
        await claimed(store, { source, id: longestId.slice(0, -1) });
      }),
  ],
];

/** The bounds of an unsigned 32-bit number, and of a signed one. */
const fingerprints = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

async function claimedWith(store: DedupeStore, key: EventKey, fingerprint?: number): Promise<string> {
  const claim = await store.claim(key, longLeaseMs, fingerprint);
  assert.ok(claim.status === "claimed");
  return claim.token;
}

/** Checks that the store reports a conflict only for fingerprints that differ from `own`, with which the id was claimed. */
async function assertConflicts(
  store: DedupeStore,
  key: EventKey,
  status: Claim["status"],
  own: number | undefined,
): Promise<void> {
  for (const other of [...fingerprints, undefined]) {
    const claim = await store.claim(key, longLeaseMs, other);
    assert.equal(claim.status, status);
    const differs = own !== undefined && other !== undefined && own !== other;
    assert.equal("conflict" in claim ? claim.conflict : undefined, differs ? true : undefined);
  }
}

/** Scenarios for fingerprints, which reveal another body under the same id. */
export const storeFingerprints: readonly StoreScenario[] = [
  [
    "reports a conflict for a busy or done id with another fingerprint, and only then",
    (open) =>
      withStore(open, {}, async (store) => {
        for (const own of [...fingerprints, undefined]) {
          const key = newKey();
          const token = await claimedWith(store, key, own);
          await assertConflicts(store, key, "busy", own);
          assert.equal(await store.extend(key, token, longLeaseMs), true);
          await assertConflicts(store, key, "busy", own);
          assert.equal(await store.complete(key, token), true);
          await assertConflicts(store, key, "done", own);
        }
      }),
  ],
  [
    "forgets the fingerprint of a released or ended claim, and keeps the next owner's",
    (open) =>
      withStore(open, {}, async (store) => {
        const released = newKey();
        await store.release(released, await claimedWith(store, released, 1));
        await claimedWith(store, released, 0);
        await assertConflicts(store, released, "busy", 0);
        const ended = newKey();
        assert.equal((await store.claim(ended, 30, 1)).status, "claimed");
        const token = await claimedInTime(store, ended, longLeaseMs);
        await assertConflicts(store, ended, "busy", undefined);
        assert.equal(await store.complete(ended, token), true);
        await assertConflicts(store, ended, "done", undefined);
      }),
  ],
  [
    "reports a conflict to each of 200 concurrent claims whose fingerprint is not the winner's",
    (open) =>
      withStore(open, {}, async (store) => {
        for (let round = 0; round < 5; round++) {
          const key = newKey();
          const claims = await Promise.all(
            Array.from({ length: 200 }, async (_, n) => ({
              fingerprint: n % 3,
              claim: await store.claim(key, longLeaseMs, n % 3),
            })),
          );
          const winners = claims.filter(({ claim }) => claim.status === "claimed");
          assert.equal(winners.length, 1);
          for (const { fingerprint, claim } of claims) {
            if (claim.status === "claimed") continue;
            assert.equal(claim.conflict === true, fingerprint !== winners[0]?.fingerprint);
          }
        }
      }),
  ],
  [
    "keeps the fingerprint of a done id until the store is opened again, if it is `durable`",
    async (open) => {
      const key = newKey();
      let durable = false;
      await withStore(open, {}, async (store) => {
        durable = store.capabilities.durable;
        assert.equal(await store.complete(key, await claimedWith(store, key, 1)), true);
      });
      if (durable) await withStore(open, {}, (store) => assertConflicts(store, key, "done", 1));
    },
  ],
  [
    "replaces the fingerprint when an id is claimed again after its retention",
    (open) =>
      withStore(open, { retentionMs: 50 }, async (store) => {
        const key = newKey();
        assert.equal(await store.complete(key, await claimed(store, key)), true);
        for (;;) {
          const claim = await store.claim(key, longLeaseMs, 1);
          if (claim.status === "claimed") break;
          assert.deepEqual(claim, { status: "done" });
        }
        await assertConflicts(store, key, "busy", 1);
      }),
  ],
];
