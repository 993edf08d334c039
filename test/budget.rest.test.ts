import { expect, it } from "vitest";
import { runNode } from "./run.ts";

const dear = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/budget/dear/vitest.config.ts"];

it("a file that takes more CPU than its budget, in a process that it starts, fails a build in CI and is only named elsewhere", async () => {
  const line =
    /Over the budget of test\/budget\/limits\.ts: .*burn\.ts took \d+\.\d s of \d+\.\d \(0\.1 s\)\./;
  for (const [CI, code] of [
    ["true", 1],
    ["", 0],
  ] as const) {
    const ended = await runNode(dear, { CI }).ended;
    expect(ended).toEqual({ code, output: expect.stringMatching(line) });
    expect(ended.output).toMatch(/\d+\.\d s {2}burn\.ts/);
  }
});
