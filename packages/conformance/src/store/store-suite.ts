import assert from "node:assert/strict";
import { extname } from "node:path";
import type { StoreCapabilities } from "@esim-webhooks/core";
import { withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import { type OpenStore, withStore } from "./store-context.ts";
import { type StoreServer, storeFaults } from "./store-faults.ts";
import { storeFingerprints, storeIds } from "./store-ids.ts";
import { storeProcesses } from "./store-processes.ts";
import { storeStates } from "./store-states.ts";

/** The store that `storeSuite` tests. */
export interface StoreSuiteOptions {
  /** The capabilities that the store must state. */
  readonly capabilities: StoreCapabilities;
  /** Opens the store under test; a durable one on the same data each time. The suite closes it. */
  readonly open: OpenStore;
  /** The URL of a module with `open` as its default export, for the child processes of the suite. */
  readonly module: string;
  /** Arguments of Node.js for those processes. Default: none. */
  readonly execArgv?: readonly string[];
  /** The store's private server, which the suite kills and freezes. Omit it if the store has none. */
  readonly server?: () => Promise<StoreServer>;
}

const script = new URL(`./store-process${extname(import.meta.url)}`, import.meta.url);

/**
 * Tests what `DedupeStore` promises: every state, four concurrent processes, wrong clocks, and a server that goes down. Runs
 * under any test runner with `describe` and `it`, passed or global.
 */
export function storeSuite(name: string, options: StoreSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, module, execArgv = [], server } = options;
  describe(`storeSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withStore(open, {}, async (store) => assert.deepEqual(store.capabilities, capabilities)));
    it("states how long it remembers done ids, in ms", () =>
      withStore(open, { retentionMs: 700 }, async (store) =>
        assert.equal(store.capabilities.retentionMs, 700),
      ));
    for (const [sentence, run] of [...storeStates, ...storeIds, ...storeFingerprints])
      it(sentence, () => run(open));
    for (const [sentence, run] of storeProcesses(capabilities)) {
      it(sentence, () => withProcesses({ script, module, execArgv }, run));
    }
    if (server === undefined) return;
    for (const [sentence, run] of storeFaults) it(sentence, async () => run(open, await server()));
  });
}
