import assert from "node:assert/strict";
import { extname } from "node:path";
import type { StateStore } from "@esim-webhooks/core";
import { withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type OpenState, withState } from "./state-context.ts";
import { stateFaults } from "./state-faults.ts";
import { assertSurvivesKills, stateProcesses } from "./state-processes.ts";
import { stateValues } from "./state-values.ts";
import { stateVersions } from "./state-versions.ts";

export interface StateSuiteOptions {
  /** What the store states about itself. */
  readonly capabilities: StateStore["capabilities"];
  readonly open: OpenState;
  /** The URL of a module whose default export is `open`, for the processes that the suite starts. */
  readonly module: string;
  /** Arguments of Node.js for those processes. Default none. */
  readonly execArgv?: readonly string[];
  /** The server of the store, a private one, to be killed and paused. Left out where there is none. */
  readonly server?: () => Promise<StoreServer>;
}

const script = new URL(`./state-process${extname(import.meta.url)}`, import.meta.url);

/**
 * What `StateStore` promises, against a real store: exact values, one writer a version, several processes, a process
 * that is killed, and a server that goes away. Runs under any runner that has `describe` and `it`, given or global.
 */
export function stateSuite(name: string, options: StateSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, module, execArgv = [], server } = options;
  const processes = { script, module, execArgv };
  describe(`stateSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withState(open, {}, async (state) => assert.deepEqual(state.capabilities, capabilities)));
    for (const [sentence, run] of [...stateValues, ...stateVersions]) it(sentence, () => run(open));
    if (capabilities.multiProcess) {
      for (const [sentence, run] of stateProcesses) it(sentence, () => withProcesses(processes, run));
    }
    if (capabilities.multiProcess && capabilities.durable) {
      it("leaves the old value or the new one, whole, when a process is killed while it writes", () =>
        withState(open, {}, (state) =>
          withProcesses(processes, (start) => assertSurvivesKills(state, start)),
        ));
    }
    if (server === undefined) return;
    for (const [sentence, run] of stateFaults) it(sentence, async () => run(open, await server()));
  });
}
