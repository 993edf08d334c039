import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Awaitable, DedupeStore, EventKey } from "@esim-webhooks/core";
import { claimed, longLeaseMs, newKey, type OpenStore, withStore } from "./store-context.ts";

/** How the suite controls the server of the store. */
export interface StoreServer {
  /** Kills the server (SIGKILL). */
  kill(): Promise<void>;
  /** Starts it again, on the same data. */
  start(): Promise<void>;
  /** Freezes the server (SIGSTOP) until `resume`. */
  pause(): Promise<void>;
  /** Lets a frozen server continue (SIGCONT). */
  resume(): Promise<void>;
}

/** A scenario in which the store's server goes down. */
export type FaultScenario = readonly [
  sentence: string,
  run: (open: OpenStore, server: StoreServer) => Promise<void>,
];

/** Calls every operation concurrently. An exception becomes a rejection. */
function everyOperation(store: DedupeStore, key: EventKey, token: string): Promise<unknown>[] {
  return [
    () => store.claim(newKey(), longLeaseMs),
    () => store.claim(key, longLeaseMs),
    () => store.extend(key, token, longLeaseMs),
    () => store.complete(key, token),
    () => store.release(key, token),
  ].map(async (operation) => operation());
}

async function assertUnavailable(operations: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(operations)) {
    assert.ok(result.status === "rejected", "expected a rejection, got an answer");
    assert.equal(result.reason.name, "WebhookError");
    assert.equal(result.reason.code, "store_unavailable");
  }
}

/** Repeats a call until the store answers. It polls, since nothing reports that a server is back. */
export async function answered<T>(call: () => Awaitable<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      assert.equal((error as { code?: string }).code, "store_unavailable");
      await pause(50);
    }
  }
}

/** Claims an id that no other test uses. Takes a new id when the server was too slow to answer. */
function claimedAnew(store: DedupeStore): Promise<{ readonly key: EventKey; readonly token: string }> {
  return answered(async () => {
    const key = newKey();
    return { key, token: await claimed(store, key) };
  });
}

export const storeFaults: readonly FaultScenario[] = [
  [
    "rejects every operation once it is closed",
    async (open) => {
      const store = await open({});
      const key = newKey();
      const token = await claimed(store, key);
      await store.close();
      await assertUnavailable(everyOperation(store, key, token));
    },
  ],
  [
    "rejects every operation with store_unavailable while its server is down, and recovers by itself",
    (open, server) =>
      withStore(open, { timeoutMs: 2000 }, async (store) => {
        const { key: done, token: mark } = await claimedAnew(store);
        assert.equal(await answered(() => store.complete(done, mark)), true);
        const { key, token } = await claimedAnew(store);
        await server.kill();
        try {
          await assertUnavailable(everyOperation(store, key, token));
        } finally {
          await server.start();
        }
        assert.deepEqual(await answered(() => store.claim(done, 1000)), { status: "done" });
      }),
  ],
  [
    "can be opened while its server is down, and works once it is up",
    async (open, server) => {
      await server.kill();
      let store: DedupeStore;
      try {
        store = await open({ timeoutMs: 1000 });
        await assert.rejects(async () => store.claim(newKey(), 1000), { code: "store_unavailable" });
        if (store.ready) await assert.rejects(store.ready(), { code: "store_unavailable" });
      } finally {
        await server.start();
      }
      await claimedAnew(store);
      await answered(async () => store.ready?.());
      await store.close();
    },
  ],
  [
    "settles the operations in flight when its server is killed, and guesses no answer",
    (open, server) =>
      withStore(open, { timeoutMs: 2000 }, async (store) => {
        await claimedAnew(store);
        const keys = Array.from({ length: 200 }, () => newKey());
        const inFlight = Promise.allSettled(keys.map(async (key) => store.claim(key, longLeaseMs)));
        try {
          await server.kill();
          for (const result of await inFlight) {
            if (result.status === "rejected") assert.equal(result.reason.code, "store_unavailable");
          }
        } finally {
          await server.start();
        }
      }),
  ],
  [
    "settles every operation in a bounded time while its server is frozen, and never claims",
    (open, server) =>
      withStore(open, { timeoutMs: 2000 }, async (store) => {
        const { key, token } = await claimedAnew(store);
        await server.pause();
        try {
          await assertUnavailable(everyOperation(store, key, token));
        } finally {
          await server.resume();
        }
        await answered(() => store.claim(newKey(), longLeaseMs));
      }),
  ],
];
