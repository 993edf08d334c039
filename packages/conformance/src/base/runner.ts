/** The two functions that every test runner has. */
export interface Runner {
  /** Names a group of tests. */
  describe(name: string, body: () => void): void;
  /** Defines a test, which fails if its body rejects. */
  it(name: string, body: () => Promise<void>): void;
}

/** The given runner, or the global one (jest, mocha, vitest with `globals`). */
export function runnerOrGlobal(runner: Runner | undefined): Runner {
  const found = runner ?? (globalThis as unknown as Partial<Runner>);
  if (typeof found.describe === "function" && typeof found.it === "function") return found as Runner;
  throw new TypeError(
    'There is no test runner: describe and it are not global. Pass them, for example with import { describe, it } from "vitest".',
  );
}
