import { type Runner, runnerOrGlobal } from "../base/runner.ts";
import type { OpenKeys } from "./key-context.ts";
import { keyRecords } from "./key-records.ts";

/** The key store that `keySuite` tests. */
export interface KeySuiteOptions {
  /** Opens the key store of this name, on the same data each time. A new name has no record. The suite closes it. */
  readonly open: OpenKeys;
}

/**
 * Tests what `KeyStore` promises within one process: exact records, and one winner per version. `crashSuite` tests it with several
 * processes. Runs under any test runner with `describe` and `it`, passed or global.
 */
export function keySuite(name: string, options: KeySuiteOptions, runner?: Runner): void {
  const { describe, it } = runnerOrGlobal(runner);
  const { open } = options;
  describe(`keySuite: ${name}`, () => {
    for (const [sentence, run] of keyRecords) it(sentence, () => run(open));
  });
}
