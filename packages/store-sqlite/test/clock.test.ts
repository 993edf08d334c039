import { expect, it } from "vitest";
import { createClock } from "../src/thread/run-calls.ts";

it("detects that a clock may have been set back: at first, and when it is more than a second behind what it was", () => {
  const clock = createClock();
  expect(clock.mayBeSetBack(5000)).toBe(true);
  clock.saw(5000);
  expect(clock.mayBeSetBack(4000)).toBe(false);
  expect(clock.mayBeSetBack(3999)).toBe(true);
  expect(clock.mayBeSetBack(3999)).toBe(true); // until a transaction is committed
  clock.saw(3999);
  expect(clock.mayBeSetBack(3999)).toBe(false);
});
