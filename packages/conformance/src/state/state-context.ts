import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateStore, StoredState } from "@esim-webhooks/core";

/** How a state store under test is to be opened. */
export interface OpenStateOptions {
  /** How long an operation may take, where a server can be away. */
  readonly timeoutMs?: number;
}

/** Opens the state store under test, on the same data each time where it is durable. The suite closes it. */
export type OpenState = (options: OpenStateOptions) => StateStore | Promise<StateStore>;

/** One sentence about a state store, and how to see that it is so. */
export type StateScenario = readonly [sentence: string, run: (open: OpenState) => Promise<void>];

/** A name that no other test has. */
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

/** Counts up by one, again whenever somebody else was first. */
export async function countUp(state: StateStore, name: string): Promise<void> {
  for (;;) {
    const stored = await state.read(name);
    const count = stored === undefined ? 0 : Number(stored.value);
    if (await state.write(name, count + 1, stored?.version)) return;
  }
}

/** A count, and so much text that a half-written value shows. */
export interface Padded {
  readonly count: number;
  readonly padding: string;
}

export function padded(count: number): Padded {
  return { count, padding: String(count % 10).repeat(20_000 + (count % 7) * 5000) };
}
