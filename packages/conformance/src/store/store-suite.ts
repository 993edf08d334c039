import assert from "node:assert/strict";
import { extname } from "node:path";
import type { StoreCapabilities } from "@esim-webhooks/core";
import { withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { type OpenStore, withStore } from "./store-context.ts";
import { type StoreServer, storeFaults } from "./store-faults.ts";
import { storeFingerprints } from "./store-fingerprints.ts";
import { storeProcesses } from "./store-processes.ts";
import { storeStates } from "./store-states.ts";

export interface StoreSuiteOptions {
  /** What the store states about itself. */
  readonly capabilities: StoreCapabilities;
  readonly open: OpenStore;
  /** The URL of a module whose default export is `open`, for the processes that the suite starts. */
  readonly module: string;
  /** Arguments of Node.js for those processes. Default none. */
  readonly execArgv?: readonly string[];
  /** The server of the store, a private one, to be killed and paused. Left out where there is none. */
  readonly server?: () => Promise<StoreServer>;
}

const script = new URL(`./store-process${extname(import.meta.url)}`, import.meta.url);

/**
 * What `DedupeStore` promises, against a real store: every state, four processes at once, clocks that are off, and a
 * server that goes away. Runs under any runner that has `describe` and `it`, given or global.
 */
export function storeSuite(name: string, options: StoreSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, module, execArgv = [], server } = options;
  describe(`storeSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withStore(open, {}, async (store) => assert.deepEqual(store.capabilities, capabilities)));
    it("states for how long it remembers done ids, in ms", () =>
      withStore(open, { retentionMs: 700 }, async (store) =>
        assert.equal(store.capabilities.retentionMs, 700),
      ));
    for (const [sentence, run] of [...storeStates, ...storeFingerprints]) it(sentence, () => run(open));
    for (const [sentence, run] of storeProcesses(capabilities)) {
      it(sentence, () => withProcesses({ script, module, execArgv }, run));
    }
    if (server === undefined) return;
    for (const [sentence, run] of storeFaults) it(sentence, async () => run(open, await server()));
  });
}
