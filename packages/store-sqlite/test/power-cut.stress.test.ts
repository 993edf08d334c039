import { it } from "vitest";
import { expectAllAfterCuts } from "./power-cuts.ts";

it("has every acknowledged event after any of many power cuts, whichever of the writes that were not synced got through", () =>
  expectAllAfterCuts(25));
