import { expect, it } from "vitest";
import { shared } from "../src/shared.ts";

it("shares what is being made, and keeps it for its time", async () => {
  let made = 0;
  const kept = shared(async () => ++made, 60_000);
  expect(await Promise.all([kept(), kept()])).toEqual([1, 1]);
  expect(await kept()).toBe(1);
  const short = shared(async () => ++made, 0);
  expect([await short(), await short()]).toEqual([2, 3]);
});
