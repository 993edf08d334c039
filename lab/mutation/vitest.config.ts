import { defineConfig } from "vitest/config";
import base from "../../vitest.config.ts";

const { projects: _, maxWorkers: __, ...settings } = base.test ?? {};

/** The tests that reach core's rooms in this process, without a server. */
export default defineConfig({
  ...base,
  test: {
    ...settings,
    include: ["packages/core/test/**/*.test.ts", "test/{rotation,transports}.test.ts"],
    exclude: ["**/node_modules/**", "**/*.{servers,stress}.test.ts"],
    isolate: false, // loading the sources again for each file would be most of the work
    testTimeout: 15_000,
    expect: { poll: { timeout: 10_000, interval: 20 } },
  },
});
