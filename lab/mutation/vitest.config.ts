import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import base from "../../vitest.config.ts";

const { projects: _, maxWorkers: __, ...settings } = base.test ?? {};
/** Set by main.ts. */
const room = process.env["MUTATED_ROOM"] as keyof typeof tests;
const core = "packages/core/test";
const client = "packages/client/test";
const dumps = "packages/import/test";
const endpoint = "packages/endpoint/test";
/** The tests that run for a room: the unit tests of a folder, or any file that is named. */
const tests = {
  "core/verify": [`${core}/verify`, `${core}/receive/receiver.test.ts`],
  "core/process": [
    `${core}/process`,
    `${core}/base/options.test.ts`,
    `${core}/receive/receiver.test.ts`,
    `${core}/observe.test.ts`,
  ],
  "core/work": [`${core}/work`, `${core}/memory/memory-inbox*.test.ts`, `${core}/observe.test.ts`],
  "core/receive": [`${core}/receive`, "lab/mutation", "packages/express/test", `${core}/observe.test.ts`],
  "client/http": ["http", "auth", "limit", "operations", "observe-calls.test.ts", "secrecy.test.ts"].map(
    (place) => `${client}/${place}`,
  ),
  "import/record": [
    `${dumps}/record`,
    `${dumps}/import-deliveries.test.ts`,
    `${dumps}/replay/replay-records.test.ts`,
    `${dumps}/dump/har.test.ts`,
  ],
  "endpoint/rotate": [`${endpoint}/rotate`, `${endpoint}/change`],
  "endpoint/reconcile": [
    "",
    "/reconcile.rest.test.ts",
    "/handlers.rest.test.ts",
    "/watermark.rest.test.ts",
    "/create-reconciler.rest.test.ts",
  ].map((place) => `${endpoint}/reconcile${place}`),
};

const slow = "*.servers|*.rest|*.process|*.lab";

/** The first test that fails ends a run: those of the room itself are first, and the long ones last. */
class LikelyFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [owner, folder] = room.split("/");
    const rank = ({ moduleId }: TestSpecification) => {
      if (/suite|differential|observe|transports|endpoints|create-reconciler\.rest/.test(moduleId)) return 2;
      return moduleId.includes(`/${owner}/test/${folder}/`) ? 0 : 1;
    };
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Neither processes nor servers of others: a run takes a second, and with the sandbox some seconds. */
export default defineConfig({
  ...base,
  test: {
    ...settings,
    include: tests[room].map((place) => join(place, place.endsWith(".ts") ? "" : `**/!(${slow}).test.ts`)),
    exclude: ["**/node_modules/**"],
    isolate: false, // loading the sources again for each file would be most of the work
    testTimeout: 15_000, // ends a test that hangs, before Stryker has to start another process; the slowest takes 3 s
    expect: { poll: { timeout: 12_000, interval: 20 } },
    sequence: { sequencer: LikelyFirst },
  },
});
