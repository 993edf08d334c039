import { expect, it } from "vitest";
import { runNode } from "../../test/run.ts";

it("runs no event again, and loses none, when the clocks of a fleet on Postgres jump six hours ahead", async () => {
  const { code, output } = await runNode(["lab/main.ts", "clocks", "postgres", "our machines jump 6 h ahead"])
    .ended;
  expect(code, output).toBe(0);
  expect(output).toMatch(/^postgres, our machines jump 6 h ahead: 0 broken promises/m);
});
