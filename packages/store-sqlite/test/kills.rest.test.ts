import { it } from "vitest";
import { expectNothingLostBy } from "./kills.ts";

it("loses nothing that was acknowledged, and has each effect once, when three processes on one file are killed", () =>
  expectNothingLostBy(12));
