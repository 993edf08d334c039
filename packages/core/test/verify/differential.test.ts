import { it } from "vitest";
import { expectTheSameVerdictsOn } from "./differential.ts";

it(
  "gives the same verdict as standardwebhooks on 4,000 generated deliveries, but where we are stricter by name",
  { timeout: 300_000 }, // it takes seconds, also where tests have less
  () => expectTheSameVerdictsOn(4_000),
);
