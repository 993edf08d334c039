import { expect, it } from "vitest";
import { runNode } from "../../test/run.ts";

it("a minute of deliveries is answered and handled, and rows that are not purged are noticed", async () => {
  const { code, output } = await runNode("lab/main.ts time --minutes 1 --rate 50 --leak purge".split(" "))
    .ended;
  expect(output).toMatch(/^These grow: .*database: rows/m);
  expect({ code, output }).toEqual({ code: 1, output: expect.not.stringContaining("✘") });
});
