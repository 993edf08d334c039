import { expect, it } from "vitest";
import { runNode } from "../../test/run.ts";

it("keeps every promise with each of the seeds that fit in 30 s", async () => {
  const first = 1000;
  const options = ["--seed", String(first), "--seeds", "200", "--events", "200", "--seconds", "30"];
  const { ended } = runNode(["--disable-warning=ExperimentalWarning", "lab/simulation/main.ts", ...options]);
  const { code, output } = await ended;
  expect(code, output).toBe(0);
  expect(Number(/^(\d+) seeds, 0 failed/m.exec(output)?.[1])).toBeGreaterThan(1);
});
