import assert from "node:assert/strict";
import type { StateStore } from "@esim-webhooks/core";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { StoreServer } from "../store/store-faults.ts";
import { type OpenState, withState } from "./state-context.ts";
import { stateFaults } from "./state-faults.ts";
import { stateValues, stateVersions } from "./state-values.ts";

/** The state store that `stateSuite` tests. */
export interface StateSuiteOptions {
  /** The capabilities that the state store must state. */
  readonly capabilities: StateStore["capabilities"];
  /** Opens the state store under test; a durable one on the same data each time. The suite closes it. */
  readonly open: OpenState;
  /** The store's private server, which the suite kills and freezes. Omit it if the store has none. */
  readonly server?: () => Promise<StoreServer>;
}

/**
 * Tests what `StateStore` promises within one process: exact values, one winner per version, and a server that goes down. `crashSuite`
 * tests it with several processes. Runs under any test runner with `describe` and `it`, passed or global.
 */
export function stateSuite(name: string, options: StateSuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { capabilities, open, server } = options;
  describe(`stateSuite: ${name}`, () => {
    it("states its capabilities", () =>
      withState(open, {}, async (state) => assert.deepEqual(state.capabilities, capabilities)));
    for (const [sentence, run] of [...stateValues, ...stateVersions]) it(sentence, () => run(open));
    if (server === undefined) return;
    for (const [sentence, run] of stateFaults) it(sentence, async () => run(open, await server()));
  });
}
