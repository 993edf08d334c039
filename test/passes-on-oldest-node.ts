import { expect, type TestContext } from "vitest";
import { oldestNode, withoutOldestNode } from "./oldest-node.ts";
import { runCommand } from "./run.ts";

/** Runs the tests whose paths begin so, of the projects unit and rest, on Node.js 22.18. Skipped where it is not installed. */
export async function expectPassOnOldestNode(context: TestContext, paths: readonly string[]): Promise<void> {
  context.skip(withoutOldestNode !== undefined, withoutOldestNode);
  const flags = ["--project", "unit", "--project", "rest"];
  const { code, output } = await runCommand(oldestNode, [
    "node_modules/vitest/vitest.mjs",
    "run",
    ...flags,
    ...paths,
  ]).ended;
  expect({ code, output }).toEqual({ code: 0, output: expect.any(String) });
}
