import { extname } from "node:path";
import { withProcesses } from "../base/other-process.ts";
import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { OpenKeys } from "./key-context.ts";
import { assertSurvivesKills, keyProcesses } from "./key-processes.ts";
import { keyRecords } from "./key-records.ts";

export interface KeySuiteOptions {
  readonly open: OpenKeys;
  /** The URL of a module with `open` as its default export, for the child processes of the suite. */
  readonly module: string;
  /** Arguments of Node.js for those processes. Default: none. */
  readonly execArgv?: readonly string[];
}

const script = new URL(`./key-process${extname(import.meta.url)}`, import.meta.url);

/**
 * Tests what `KeyStore` promises: exact records, one winner per version, four processes at once, and a process that is killed while it
 * writes. Runs under any test runner with `describe` and `it`, passed or global.
 */
export function keySuite(name: string, options: KeySuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { open, module, execArgv = [] } = options;
  const processes = { script, module, execArgv };
  describe(`keySuite: ${name}`, () => {
    for (const [sentence, run] of keyRecords) it(sentence, () => run(open));
    for (const [sentence, run] of keyProcesses) it(sentence, () => withProcesses(processes, run));
    it("has the old record or the new one after a process was killed while writing, and no write waits for the dead", () =>
      withProcesses(processes, (start) => assertSurvivesKills(open, start)));
  });
}
