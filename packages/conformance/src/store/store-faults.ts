import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Awaitable, DedupeStore, EventKey } from "@esim-webhooks/core";
import { claimed, longLeaseMs, newKey, type OpenStore, withStore } from "./store-context.ts";

/** What the suite does to the server of the store. */
export interface StoreServer {
  /** Ends it at once (SIGKILL). */
  kill(): Promise<void>;
  /** Starts it again, with what it had. */
  start(): Promise<void>;
  /** Lets it answer nothing (SIGSTOP), and go on. */
  pause(): Promise<void>;
  resume(): Promise<void>;
}

/** One sentence about a store whose server goes away. */
export type FaultScenario = readonly [
  sentence: string,
  run: (open: OpenStore, server: StoreServer) => Promise<void>,
];

/** All at the same time; one that throws rejects. */
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

/** Asks until the store answers: nobody tells a client that its server is back. */
export async function answered<T>(ask: () => Awaitable<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      assert.equal((error as { code?: string }).code, "store_unavailable");
      await pause(50);
    }
  }
}

/** Claims an id that no other test has; another one where the server was too slow to answer. */
function claimedAnew(store: DedupeStore): Promise<{ readonly key: EventKey; readonly token: string }> {
  return answered(async () => {
    const key = newKey();
    return { key, token: await claimed(store, key) };
  });
}

export const storeFaults: readonly FaultScenario[] = [
  [
    "rejects everything once it was closed",
    async (open) => {
      const store = await open({});
      const key = newKey();
      const token = await claimed(store, key);
      await store.close();
      await assertUnavailable(everyOperation(store, key, token));
    },
  ],
  [
    "rejects everything with store_unavailable while its server is down, and recovers by itself",
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
    "settles what is in flight when its server is killed, and never says what it does not know",
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
      withStore(open, { timeoutMs: 300 }, async (store) => {
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
