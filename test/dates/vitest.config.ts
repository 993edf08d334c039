import { globSync } from "node:fs";
import { matchesGlob } from "node:path";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import base from "../../vitest.config.ts";

const { projects = [], ...settings } = base.test ?? {};
const isUnit = (project: unknown): project is TestProjectInlineConfiguration =>
  (project as TestProjectInlineConfiguration).test?.name === "unit";
const unit = projects.find(isUnit);
if (unit?.test === undefined) throw new Error("vitest.config.ts has no project unit.");

/** Tests of the tier rest that depend on dates, and start neither a server nor a process. */
const rest = [
  "packages/endpoint/test/reconcile/*.rest.test.ts",
  "packages/core/test/receive/endpoints.rest.test.ts",
  "packages/core/test/verify/key-file.rest.test.ts",
  "packages/otel/test/spans.rest.test.ts",
];

/** The other tests of that tier. The unit project's pattern includes them, since their names end in `.test.ts`, too. */
const otherRest = globSync("{packages/*/test,test,lab/test}/**/*.rest.test.ts").filter(
  (file) => !rest.some((pattern) => matchesGlob(file, pattern)),
);

/** The unit tests, and the tests of `rest`. */
export default defineConfig({
  ...base,
  plugins: [...(base.plugins ?? []), ...(unit.plugins ?? [])],
  test: {
    ...settings,
    ...(unit.test as typeof settings),
    env: { ...unit.test.env, PRINT_WARNINGS: "1" }, // as for the tests of `rest` in their own tier
    exclude: [
      "**/node_modules/**",
      "**/*.{servers,process,lab}.test.ts",
      // the threads of SQLite take seconds to start under faketime
      "packages/store-sqlite/test/*.suite.test.ts",
      "packages/cli/test/inbox/{operations,pauses}.test.ts",
      "packages/endpoint/test/reconcile/{failover,stores}.rest.test.ts", // start servers
      ...otherRest,
    ],
  },
});
