import assert from "node:assert/strict";
import type { StateStore } from "@esim-webhooks/core";
import { answered, type StoreServer } from "../store/store-faults.ts";
import { countUp, newName, type OpenState, present, withState } from "./state-context.ts";

/** A scenario in which the state store's server goes down. */
type StateFaultScenario = readonly [
  sentence: string,
  run: (open: OpenState, server: StoreServer) => Promise<void>,
];

async function assertUnavailable(state: StateStore, name: string): Promise<void> {
  await assert.rejects(() => state.read(name), { name: "WebhookError", code: "store_unavailable" });
  await assert.rejects(() => state.write(name, 1, undefined), { code: "store_unavailable" });
}

export const stateFaults: readonly StateFaultScenario[] = [
  [
    "rejects with store_unavailable while its server is down, and still has every value after a restart",
    (open, server) =>
      withState(open, { timeoutMs: 2000 }, async (state) => {
        const name = newName();
        await answered(() => countUp(state, name));
        const { value } = await answered(() => present(state, name));
        await server.kill();
        try {
          await assertUnavailable(state, name);
        } finally {
          await server.start();
        }
        assert.equal((await answered(() => present(state, name))).value, value);
        await answered(() => countUp(state, name));
      }),
  ],
  [
    "settles every operation in a bounded time while its server is frozen",
    (open, server) =>
      withState(open, { timeoutMs: 2000 }, async (state) => {
        const name = newName();
        await answered(() => countUp(state, name));
        await server.pause();
        try {
          await assertUnavailable(state, name);
        } finally {
          await server.resume();
        }
        await answered(() => present(state, name));
      }),
  ],
];
