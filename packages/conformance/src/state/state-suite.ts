import assert from "node:assert/strict";
import { extname } from "node:path";
import type { StateStore } from "@esim-webhooks/core";
import { withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type OpenState, withState } from "./state-context.ts";
import { assertStateSurvivesKills, stateFaults, stateProcesses } from "./state-processes.ts";
import { stateValues, stateVersions } from "./state-values.ts";

/** What `stateSuite` tests. */
export interface StateSuiteOptions {
  /** The capabilities that the state store must state. */
  readonly capabilities: StateStore["capabilities"];
  /** Opens the state store under test; a durable one on the same data each time. The suite closes it. */
  readonly open: OpenState;
  /** The URL of a module with `open` as its default export, for the child processes of the suite. */
  readonly module: string;
  /** Arguments of Node.js for those processes. Default: none. */
  readonly execArgv?: readonly string[];
  /** The store's private server, which the suite kills and freezes. Omit it if the store has none. */
  readonly server?: () => Promise<StoreServer>;
}

/** What the child processes of the suite run. */
export const stateScript: URL = new URL(`./state-process${extname(import.meta.url)}`, import.meta.url);

/**
 * Tests what `StateStore` promises: exact values, one winner per version, four concurrent processes, a killed process, and a
 * server that goes down. Runs under any test runner with `describe` and `it`, passed or global.
 */
export function stateSuite(name: string, options: StateSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, module, execArgv = [], server } = options;
  const processes = { script: stateScript, module, execArgv };
  describe(`stateSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withState(open, {}, async (state) => assert.deepEqual(state.capabilities, capabilities)));
    for (const [sentence, run] of [...stateValues, ...stateVersions]) it(sentence, () => run(open));
    if (capabilities.multiProcess) {
      for (const [sentence, run] of stateProcesses) it(sentence, () => withProcesses(processes, run));
    }
    if (capabilities.multiProcess && capabilities.durable) {
      it("has the whole old value or the whole new one after a process was killed while writing", () =>
        withState(open, {}, (state) =>
          withProcesses(processes, (start) => assertStateSurvivesKills(state, start)),
        ));
    }
    if (server === undefined) return;
    for (const [sentence, run] of stateFaults) it(sentence, async () => run(open, await server()));
  });
}
