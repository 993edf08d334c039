import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateStore, StoredState } from "@esim-webhooks/core";

/** The options with which the suite opens the state store under test. */
export interface OpenStateOptions {
  /** The timeout of an operation, in ms, for stores on a server. */
  readonly timeoutMs?: number;
}

/** Opens the state store under test; a durable one on the same data each time. The suite closes it. */
export type OpenState = (options: OpenStateOptions) => StateStore | Promise<StateStore>;

/** A sentence about a state store, which names the test, and the test itself. */
export type StateScenario = readonly [sentence: string, run: (open: OpenState) => Promise<void>];

/** A name that no other test uses. */
export function newName(): string {
  return `state/${randomUUID()}`;
}

/** Opens a store for `use`, and closes it. */
export async function withState(
  open: OpenState,
  options: OpenStateOptions,
  use: (state: StateStore) => Promise<void>,
): Promise<void> {
  const state = await open(options);
  try {
    await use(state);
  } finally {
    await state.close();
  }
}

export async function present(state: StateStore, name: string): Promise<StoredState> {
  const stored = await state.read(name);
  assert.ok(stored !== undefined, `expected a value of ${name}`);
  return stored;
}

/** Adds one to a count. Tries again when another writer was first. */
export async function countUp(state: StateStore, name: string): Promise<void> {
  for (;;) {
    const stored = await state.read(name);
    const count = stored === undefined ? 0 : Number(stored.value);
    if (await state.write(name, count + 1, stored?.version)) return;
  }
}

/** A count with much text, so that a half-written value is noticed. */
export interface Padded {
  readonly count: number;
  readonly padding: string;
}

export function padded(count: number): Padded {
  return { count, padding: String(count % 10).repeat(20_000 + (count % 7) * 5000) };
}
