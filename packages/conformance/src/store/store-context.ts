import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { DedupeStore, EventKey } from "@esim-webhooks/core";

/** The options with which the suite opens the store under test. */
export interface OpenOptions {
  /** How long done ids are remembered, in ms. Default: that of the store. */
  readonly retentionMs?: number;
  /** The timeout of an operation, in ms, for stores on a server. */
  readonly timeoutMs?: number;
}

/** Opens the store under test; a durable one on the same data each time. The suite closes it. */
export type OpenStore = (options: OpenOptions) => DedupeStore | Promise<DedupeStore>;

/** A sentence about a store, which names the test, and the test itself. */
export type StoreScenario = readonly [sentence: string, run: (open: OpenStore) => Promise<void>];

/** A key that no other test uses. */
export function newKey(id = "msg_1"): EventKey {
  return { source: randomUUID(), id };
}

/** A lease that does not end during a test. */
export const longLeaseMs = 600_000;

/** Opens a store for `use`, and closes it. */
export async function withStore(
  open: OpenStore,
  options: OpenOptions,
  use: (store: DedupeStore) => Promise<void>,
): Promise<void> {
  const store = await open(options);
  try {
    await use(store);
  } finally {
    await store.close();
  }
}

export async function claimed(
  store: DedupeStore,
  key: EventKey,
  leaseMs: number = longLeaseMs,
): Promise<string> {
  const claim = await store.claim(key, leaseMs);
  assert.equal(claim.status, "claimed");
  return claim.status === "claimed" ? claim.token : "";
}

/** Claims an id as soon as it is free. It polls, since no store reports the end of a lease. */
export async function claimedInTime(store: DedupeStore, key: EventKey, leaseMs: number): Promise<string> {
  for (;;) {
    const claim = await store.claim(key, leaseMs);
    if (claim.status === "claimed") return claim.token;
    await pause(claim.status === "busy" ? Math.min(claim.retryAfterMs, 50) : 20);
  }
}

export async function assertBusy(store: DedupeStore, key: EventKey, leaseMs: number): Promise<void> {
  const claim = await store.claim(key, 1000);
  assert.equal(claim.status, "busy");
  const wait = claim.status === "busy" ? claim.retryAfterMs : 0;
  assert.ok(wait > 0 && wait <= leaseMs, `expected a wait of at most ${leaseMs} ms, got ${wait}`);
}
