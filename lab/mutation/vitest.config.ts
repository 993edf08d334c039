import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const { projects: _, maxWorkers: __, ...settings } = base.test ?? {};
/** Set by main.ts. */
const room = process.env["MUTATED_ROOM"] ?? "";

/** The first test that fails ends a run, so the long ones are last, and those of the mutated room are first. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (/suite|differential|transports|testing/.test(basename(moduleId))) return 2;
      return moduleId.includes(`/core/test/${room}/`) ? 0 : 1;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** The tests that reach core's rooms in this process, without a server. */
export default defineConfig({
  ...base,
  test: {
    ...settings,
    include: ["packages/core/test/**/*.test.ts", ...(room === "receive" ? ["test/transports.test.ts"] : [])],
    exclude: ["**/node_modules/**", "**/*.{servers,stress}.test.ts"],
    isolate: false, // loading the sources again for each file would be most of the work
    testTimeout: 15_000,
    expect: { poll: { timeout: 10_000, interval: 20 } },
    sequence: { sequencer: LikelyFirst },
  },
});
