import { it } from "vitest";
import { rotateUnderLoad } from "./rotation.ts";

it("loses nothing and handles nothing twice through 20 rotations under load, on two receivers, amid forged deliveries", () =>
  rotateUnderLoad(20));
