import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { KeyRecord, KeyStore, StoredKeys } from "@esim-webhooks/core";
import { newSecret } from "@esim-webhooks/core/testing";

/** A key store that is open for the suite. */
export interface OpenedKeys {
  /** The key store. */
  readonly keys: KeyStore;
  /** Closes the connection of the key store. Omit it if there is nothing to close. */
  close?(): Promise<void>;
}

/** Opens the key store of this name, on the same data each time. A new name has no record. The suite closes it. */
export type OpenKeys = (name: string) => OpenedKeys | Promise<OpenedKeys>;

/** A sentence about a key store, which names the test, and the test itself. */
export type KeyScenario = readonly [sentence: string, run: (open: OpenKeys) => Promise<void>];

/** A name that no other test uses. */
export function newName(): string {
  return `keys-${randomUUID()}`;
}

/** Opens a key store for `use`, and closes it. */
export async function withKeys(
  open: OpenKeys,
  name: string,
  use: (keys: KeyStore) => Promise<void>,
): Promise<void> {
  const opened = await open(name);
  try {
    await use(opened.keys);
  } finally {
    await opened.close?.();
  }
}

export async function present(keys: KeyStore): Promise<StoredKeys> {
  const stored = await keys.read();
  assert.ok(stored !== undefined, "expected a record");
  return stored;
}

/** Makes a record with this count, and with a number of keys that depends on it, so that a half-written record is noticed. */
export function numbered(count: number): KeyRecord {
  return {
    keys: Array.from({ length: 1 + (count % 7) }, () => newSecret()),
    change: { count, keys: 1 + (count % 7) },
  };
}

export function countIn(record: KeyRecord | undefined): number {
  if (record === undefined) return 0;
  const { count, keys } = record.change as { readonly count: number; readonly keys: number };
  assert.equal(record.keys.length, keys);
  return count;
}

/** Writes a record with the next count. Tries again when another writer was first. */
export async function countUp(keys: KeyStore): Promise<void> {
  for (;;) {
    const stored = await keys.read();
    if (await keys.write(numbered(countIn(stored?.record) + 1), stored?.version)) return;
  }
}
