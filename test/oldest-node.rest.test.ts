import { expect, it } from "vitest";
import { oldestNode, withoutOldestNode } from "./oldest-node.ts";
import { runCommand } from "./run.ts";

it("the tests of SQLite pass on the oldest Node.js, 22.18, whose SQLite is written without a log", async (context) => {
  context.skip(withoutOldestNode !== undefined, withoutOldestNode);
  const projects = ["--project", "unit", "--project", "rest"];
  const vitest = ["node_modules/vitest/vitest.mjs", "run", ...projects, "packages/store-sqlite"];
  const { code, output } = await runCommand(oldestNode, vitest).ended;
  expect(code, output).toBe(0);
});
