import { expect, it } from "vitest";
import { runNode } from "./run.ts";

it("loads at most 46 files of its own for an import of @esim-webhooks/core", async () => {
  const { code, output } = await runNode(["bench/modules.mjs", "@esim-webhooks/core"]).ended;
  const own = output.split("\n").filter((url) => url.includes("/packages/core/src/"));
  expect(code, output).toBe(0);
  expect(own.length).toBeGreaterThan(1); // it counts
  expect(own.length, own.join("\n")).toBeLessThanOrEqual(46);
});
