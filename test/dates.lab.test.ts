import { expect, it } from "vitest";
import { runNode } from "./run.ts";

it("the unit tests pass tomorrow, in 30 and in 400 days, and in a time zone with half an hour and DST", async () => {
  const { code, output } = await runNode(["test/dates/main.ts"]).ended;
  expect(code, output).toBe(0);
});
