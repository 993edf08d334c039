import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { root } from "../../test/run.ts";
import { type Fault, faults } from "../faults/faults.ts";
import { withFault } from "../faults/main.ts";

it.each(faults)("the present sources can have the fault that $name", (fault) => {
  const source = readFileSync(join(root, fault.file), "utf8");
  expect(withFault(source, fault)).not.toBe(source);
});

it("a fault whose text is gone says which one, and where to change it", () => {
  const gone: Fault = { ...(faults[0] as Fault), name: "the text is gone", before: "no such text" };
  expect(() => withFault("source", gone)).toThrow(
    /"the text is gone" no longer applies: .*settle\.ts has its text 0 times instead of once\. Change its text in lab\/faults\/faults\.ts/,
  );
});
