import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import {
  assertBusy,
  claimed,
  claimedInTime,
  longLeaseMs,
  newKey,
  type StoreScenario,
  withStore,
} from "./store-context.ts";

/** Scenarios for the states of an id, and for each operation in them. */
export const storeStates: readonly StoreScenario[] = [
  [
    "grants one of 200 concurrent claims of an id, and answers the others for how long it is busy",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const claims = await Promise.all(Array.from({ length: 200 }, () => store.claim(key, 60_000)));
        assert.equal(claims.filter((claim) => claim.status === "claimed").length, 1);
        for (const claim of claims.filter((one) => one.status !== "claimed")) {
          assert.equal(claim.status, "busy");
          assert.ok(claim.status === "busy" && claim.retryAfterMs > 0 && claim.retryAfterMs <= 60_000);
        }
      }),
  ],
  [
    "answers done for a completed id",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        assert.equal(await store.complete(key, await claimed(store, key)), true);
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
      }),
  ],
  [
    "grants a released id to the next claim, with a new token",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const first = await claimed(store, key);
        assert.equal(await store.release(key, first), true);
        const second = await claimed(store, key);
        assert.notEqual(second, first);
        assert.equal(await store.release(key, first), false);
        await assertBusy(store, key, longLeaseMs);
      }),
  ],
  [
    "grants an id whose lease has ended to the next claim, with a new token",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const first = await claimed(store, key, 50);
        assert.notEqual(await claimedInTime(store, key, longLeaseMs), first);
      }),
  ],
  [
    "lets a late owner change nothing: complete, extend and release answer false",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const late = await claimed(store, key, 50);
        const owner = await claimedInTime(store, key, longLeaseMs);
        assert.equal(await store.complete(key, late), false);
        assert.equal(await store.extend(key, late, longLeaseMs), false);
        assert.equal(await store.release(key, late), false);
        await assertBusy(store, key, longLeaseMs);
        assert.equal(await store.complete(key, owner), true);
        assert.equal(await store.release(key, late), false);
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
      }),
  ],
  [
    "lets an owner whose lease has ended change nothing, even if no other has taken over",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const late = await claimed(store, key, 30);
        await pause(100);
        assert.equal(await store.complete(key, late), false);
        assert.equal(await store.extend(key, late, longLeaseMs), false);
        assert.equal(await store.release(key, late), false);
        await claimedInTime(store, key, longLeaseMs);
      }),
  ],
  [
    "ignores tokens that it never gave",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        for (const token of ["", "0", "none"]) {
          assert.equal(await store.complete(key, token), false);
          assert.equal(await store.release(key, token), false);
        }
        await claimed(store, key);
        assert.equal(await store.complete(key, "none"), false);
        assert.equal(await store.extend(key, "none", longLeaseMs), false);
        await assertBusy(store, key, longLeaseMs);
      }),
  ],
  [
    "moves the end of the lease with each extend",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const token = await claimed(store, key, 60_000);
        assert.equal(await store.extend(key, token, longLeaseMs), true);
        const claim = await store.claim(key, 1000);
        assert.ok(claim.status === "busy" && claim.retryAfterMs > 60_000);
        assert.equal(await store.extend(key, token, 30), true);
        await claimedInTime(store, key, 1000);
      }),
  ],
  [
    "answers complete with true again for the token that completed the id",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const token = await claimed(store, key);
        assert.equal(await store.complete(key, token), true);
        assert.equal(await store.complete(key, token), true);
        assert.equal(await store.extend(key, token, 10), false);
        assert.equal(await store.release(key, token), false);
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
      }),
  ],
  [
    "keeps an id done for the retention, however short its lease was, and then forgets it",
    async (open) => {
      await withStore(open, {}, async (store) => {
        const key = newKey();
        // repeated when the lease ended before the call of complete
        while (!(await store.complete(key, await claimedInTime(store, key, 50))));
        await pause(150);
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
      });
      await withStore(open, { retentionMs: 50 }, async (store) => {
        const key = newKey();
        assert.equal(await store.complete(key, await claimed(store, key)), true);
        await claimedInTime(store, key, 1000);
      });
    },
  ],
  [
    "never lets a rejected duplicate disturb the live claim",
    (open) =>
      withStore(open, {}, async (store) => {
        const key = newKey();
        const token = await claimed(store, key, 60_000);
        for (const leaseMs of [1, 1, 1]) await store.claim(key, leaseMs);
        await pause(20);
        await assertBusy(store, key, 60_000);
        assert.equal(await store.extend(key, token, 60_000), true);
        assert.equal(await store.complete(key, token), true);
      }),
  ],
  [
    "still knows a done id when it is opened again, if it is `durable`",
    async (open) => {
      const key = newKey();
      let durable = false;
      await withStore(open, {}, async (store) => {
        durable = store.capabilities.durable;
        assert.equal(await store.complete(key, await claimed(store, key)), true);
      });
      if (!durable) return;
      await withStore(open, {}, async (store) => {
        assert.deepEqual(await store.claim(key, 1000), { status: "done" });
      });
    },
  ],
  [
    "has transact only if it is transactional, and an unused transaction leaves the claim as it is",
    (open) =>
      withStore(open, {}, async (store) => {
        assert.equal(store.transact !== undefined, store.capabilities.transactional);
        const key = newKey();
        const token = await claimed(store, key);
        if (store.transact === undefined) return;
        assert.equal(await store.transact(key, token, async () => true), "unused");
        assert.equal(await store.transact(key, token, async () => false), "unused");
        await assert.rejects(
          store.transact(key, token, () => Promise.reject(new Error("work"))),
          /work/,
        );
        await assertBusy(store, key, longLeaseMs);
        assert.equal(await store.complete(key, token), true);
      }),
  ],
  [
    "can be closed twice, also concurrently, and without having been used",
    async (open) => {
      const store = await open({});
      await claimed(store, newKey());
      await Promise.all([store.close(), store.close()]);
      await store.close();
      await (await open({})).close();
    },
  ],
];
