import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { limits } from "./test/budget/limits.ts";
import { budgetReporter } from "./test/budget/reporter.ts";
import { memoryFolder } from "./test/memory-folder.ts";
import { missingServers } from "./test/servers/missing.ts";

const root = import.meta.dirname;

/** Keeps tests that need more than their tier installs out of it. */
function without(files: RegExp, advice: string): Plugin {
  return {
    name: `without-${files.source}`,
    load(id) {
      if (files.test(id.slice(root.length)))
        throw new Error(`${id} is not for this tier of tests. ${advice}`);
    },
  };
}

/** Makes a folder that is deleted at the end, with all that tests and killed processes have left in it. */
function folderOfRun(parent: string): string {
  const path = mkdtempSync(join(parent, "esim-webhooks-tests-"));
  chmodSync(path, 0o711); // a server in it may have a user of its own
  process.once("exit", () => {
    try {
      rmSync(path, { recursive: true, maxRetries: 5 });
    } catch {
      // a server still writes into it
    }
  });
  return path;
}

/**
 * An operation on an SQLite file may take a minute, not five seconds: a busy machine takes that long to start its thread. With
 * DOCUMENTED_DEFAULTS, which a test sets before it loads the sources, it keeps the default of the pages.
 */
const patientFiles: Plugin = {
  name: "patient-files",
  enforce: "pre",
  transform(code, id) {
    if (!id.endsWith("/packages/store-sqlite/src/sqlite-options.ts")) return;
    const patient = code.replace(
      "durationMs(1), 5000",
      'durationMs(1), process.env["DOCUMENTED_DEFAULTS"] ? 5000 : 60_000',
    );
    if (patient === code) throw new Error(`${id} has no default of 5000 for timeoutMs.`);
    return { code: patient, map: null };
  },
};

/** Starts the files first that run whole projects of tests: they take minutes. The others follow by their size, which those do not show. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) =>
      /\/test\/(?:dates|oldest-node|oldest-peers|packaging)\.rest\.test\.ts$/.test(moduleId);
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const noServers = without(
  /^\/test\/servers\//,
  "A unit test starts no server. Let the name of a test that needs one end in .servers.test.ts.",
);
const noInstallations = without(
  /^\/test\/(?:installed|servers\/(?:chromium|prometheus|workerd))\.ts$/,
  "npm test installs only npm packages, Redis and Postgres. Let the name of a test that needs more end in .rest.test.ts.",
);

const folders = ["packages/*/test/**", "test/**", "lab/test/**"];
const ending = (name: string) => folders.map((folder) => `${folder}/*${name}`);
/** In memory, since half of what those tests wait for is syncs. The laboratory syncs to the disk. */
const quick = { env: { TMPDIR: folderOfRun(process.env["TMPDIR"] || memoryFolder() || tmpdir()) } };
/** The long tests print a warning that no test expects; it fails the others. */
const printing = ({ env = {} }: { env?: Record<string, string> }) => ({
  env: { ...env, PRINT_WARNINGS: "1" },
});
const servers = { globalSetup: "test/servers/global-setup.ts" };

/** Where `.ci/run` wants a report; not of the runs that tests start. */
const report = process.env["TEST_REPORT"];
delete process.env["TEST_REPORT"];
const jsonReporter: ["json", { outputFile: string }][] = report ? [["json", { outputFile: report }]] : [];

export default defineConfig({
  plugins: [patientFiles],
  resolve: { conditions: ["@esim-webhooks/source"] },
  ssr: { resolve: { conditions: ["@esim-webhooks/source"], externalConditions: ["@esim-webhooks/source"] } },
  test: {
    maxWorkers: 4, // two for each processor of a small machine: half of the time is waiting, for a lease, a server, a process
    // the tests start some hundred processes: compiling the sources would be half of what those do
    env: { NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled") },
    // limits for a test that hangs, not for one that is slow: the machine may be busy with other things
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 20_000, interval: 20 } }, // a failure shows the last value
    setupFiles: ["test/setup.ts", "test/budget/measured-file.ts"],
    reporters: ["default", budgetReporter(limits), ...jsonReporter],
    slowTestThreshold: 2000,
    sequence: { sequencer: LongestFirst },
    maxConcurrency: 20, // what runs concurrently waits: for a reload, a lease, a server
    projects: [
      {
        extends: true,
        plugins: [noServers, noInstallations],
        test: {
          name: "unit",
          ...quick,
          isolate: false, // loading the sources again for each file would be half of the work
          include: [...ending(".test.ts"), "examples/vitest/*.test.ts"],
          exclude: ["**/node_modules/**", ...ending(".{servers,rest,process,lab}.test.ts")],
        },
      },
      {
        extends: true,
        plugins: [noInstallations],
        test: {
          name: "servers",
          isolate: false,
          include: ending(".servers.test.ts"),
          exclude: Object.values(missingServers()).map(({ files }) => files),
          ...servers,
          ...quick,
        },
      },
      {
        extends: true,
        test: {
          name: "rest",
          include: ending(".{rest,process}.test.ts"),
          // some build packages, a site and a Next.js application
          testTimeout: 1_800_000,
          hookTimeout: 1_800_000,
          ...servers,
          ...printing(quick),
        },
      },
      {
        extends: true,
        test: {
          name: "lab",
          include: ending(".lab.test.ts"),
          testTimeout: 1_800_000,
          expect: { poll: { timeout: 120_000, interval: 20 } },
          ...servers,
          ...printing({}),
        },
      },
    ],
  },
});
