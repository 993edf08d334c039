import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "../../vitest.config.ts";

const { projects: _, maxWorkers: __, ...settings } = base.test ?? {};
/** Set by main.ts. */
const room = process.env["MUTATED_ROOM"] as keyof typeof tests;
/** Which tests of core run for a room. */
const tests = {
  verify: ["verify", "receive/receiver.test.ts"],
  process: ["process", "base/options.test.ts", "receive/receiver.test.ts", "observe.test.ts"],
  work: ["work", "store/memory-inbox*.test.ts", "observe.test.ts"],
  receive: ["receive", "send", "observe.test.ts"],
};

/** The first test that fails ends a run: those of the room itself are first, and the long ones last. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      if (/suite|differential|observe|send/.test(moduleId)) return 2;
      return moduleId.includes(`/core/test/${room}/`) ? 0 : 1;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Neither processes nor servers: a run takes a second. */
export default defineConfig({
  ...base,
  test: {
    ...settings,
    include: tests[room].map((place) =>
      join("packages/core/test", place, place.endsWith(".ts") ? "" : "**/*.test.ts"),
    ),
    exclude: ["**/node_modules/**", "**/*.{servers,stress}.test.ts"],
    isolate: false, // loading the sources again for each file would be most of the work
    testTimeout: 5_000, // a test that hangs fails before Stryker has to start another process
    expect: { poll: { timeout: 4_000, interval: 20 } },
    sequence: { sequencer: LikelyFirst },
  },
});
