import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@esim-webhooks/source"] },
  ssr: { resolve: { conditions: ["@esim-webhooks/source"], externalConditions: ["@esim-webhooks/source"] } },
  test: {
    maxWorkers: 2, // most of the time is waiting: for servers that restart, and for leases to end
    // the tests start some hundred processes: compiling the sources would be half of what those do
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compiled") },
    testTimeout: 60_000, // for a noisy machine: nothing here waits without an end of its own
    hookTimeout: 180_000,
    globalSetup: "test/servers/global-setup.ts",
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { include: ["packages/*/test/**/*.test-d.ts"], tsconfig: "tsconfig.tests.json" },
  },
});
