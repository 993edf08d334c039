import { it } from "vitest";
import { expectTheSameVerdictsOn } from "./differential.ts";

it("gives the same verdict as standardwebhooks on 50,000 generated deliveries, but where we are stricter by name", () =>
  expectTheSameVerdictsOn(50_000));
