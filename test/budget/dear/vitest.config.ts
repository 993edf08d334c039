import { defineConfig } from "vitest/config";
import { limits } from "../limits.ts";
import { budgetReporter } from "../reporter.ts";

/** A run whose only file takes more CPU than its budget, for the test of the budget. */
export default defineConfig({
  test: {
    name: "dear",
    root: import.meta.dirname,
    include: ["burn.ts"],
    testTimeout: 300_000,
    setupFiles: ["../measured-file.ts"],
    reporters: [
      budgetReporter({
        ...limits,
        tiers: { "npm test": { projects: ["dear"], wall: 600, cpu: 600 } },
        file: 0.1,
        loading: 0,
      }),
    ],
  },
});
