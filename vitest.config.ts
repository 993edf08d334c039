import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["source"] },
  ssr: { resolve: { conditions: ["source"], externalConditions: ["source"] } },
  test: {
    globalSetup: "test/servers/global-setup.ts",
    include: ["packages/*/test/**/*.test.ts", "test/**/*.test.ts"],
    typecheck: { include: ["packages/*/test/**/*.test-d.ts"], tsconfig: "tsconfig.tests.json" },
  },
});
