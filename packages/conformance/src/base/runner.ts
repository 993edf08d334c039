/** The two functions that every test runner has. */
export interface Runner {
  describe(name: string, body: () => void): void;
  it(name: string, body: () => Promise<void>): void;
}

/** The runner given, or the one whose functions are global (jest, mocha, vitest with `globals`). */
export function runnerOrGlobal(runner: Runner | undefined): Runner {
  const found = runner ?? (globalThis as unknown as Partial<Runner>);
  if (typeof found.describe === "function" && typeof found.it === "function") return found as Runner;
  throw new TypeError(
    'There is no test runner: describe and it are not global. Pass them: import { describe, it } from "vitest".',
  );
}
