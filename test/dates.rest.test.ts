import { expect, it } from "vitest";
import { runNode } from "./run.ts";

it("the unit tests pass in 400 days, in a time zone half an hour off the full hours", async () => {
  const { code, output } = await runNode(["test/dates/main.ts", "--only", "in 400 days in St. John's"]).ended;
  expect({ code, output }).toEqual({ code: 0, output: expect.stringMatching(/\d{4} passed/) });
});
