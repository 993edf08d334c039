import { afterAll, beforeAll, expect, it } from "vitest";
import { faults } from "../faults/faults.ts";
import { checksOf, createScratch, type Scratch } from "../faults/main.ts";

let scratch: Scratch;
beforeAll(() => {
  scratch = createScratch();
});
afterAll(() => scratch.remove());

it.each(checksOf(faults))("without a fault, %s passes", async (check) => {
  expect(await scratch.run(check)).toBeUndefined();
});

it.each(faults)("the tests notice that $name", async (fault) => {
  const { by } = await scratch.try(fault);
  expect(by.map((test, index) => test ?? `${fault.checks[index]} passes`)).toEqual(by);
});
