import { describe, expect, it } from "vitest";
import { measuredLoops, processCpu } from "./budget/cpu.ts";
import type { Limits } from "./budget/limits.ts";
import { type MeasuredFile, type MeasuredRun, overBudget } from "./budget/over-budget.ts";

const limits: Limits = {
  tiers: {
    "npm test": { projects: ["unit", "servers"], wall: 100, cpu: 200 },
    "npm run test:rest": { projects: ["rest"], wall: 100, cpu: 200 },
  },
  file: 5,
  suite: 25,
  loading: 2,
  loops: { counting: 6, memory: 10 },
};

const file = (name: string, change: Partial<MeasuredFile> = {}): MeasuredFile => ({
  project: "unit",
  name,
  cpu: 1,
  isFirst: false,
  ...change,
});

function over(change: Partial<MeasuredRun> = {}, ...files: readonly MeasuredFile[]): string[] {
  const both = [file("a.test.ts"), file("b.servers.test.ts", { project: "servers" })];
  return overBudget({ wall: 100, cpu: 200, speed: 1, files: [...both, ...files], ...change }, limits);
}

describe("the budget of a tier", () => {
  it("accepts a fifth more than its limits", () => {
    expect(over({ wall: 120, cpu: 240 })).toEqual([]);
  });

  it("names the tier that takes longer, with the limit", () => {
    expect(over({ wall: 121 })).toEqual(["npm test took 121.0 s of 120.0 (100 s)."]);
    expect(over({ cpu: 241 })).toEqual(["the CPU of npm test took 241.0 s of 240.0 (200 s)."]);
  });

  it("grows with the time that the measured loop takes on a slower machine", () => {
    expect(over({ wall: 170, cpu: 350, speed: 1.5 })).toEqual([]);
    expect(over({ wall: 181, speed: 1.5 })).toHaveLength(1);
  });

  it("is not asked of a run of only a part of its projects", () => {
    const files = [file("a.test.ts", { cpu: 100 })];
    expect(overBudget({ wall: 1000, cpu: 1000, speed: 1, files }, limits)).toEqual([]);
  });
});

describe("the budget of a file", () => {
  it("names each file of npm test that takes a fifth more than its limit", () => {
    expect(over({}, file("dear.test.ts", { cpu: 6.1 }), file("cheap.test.ts", { cpu: 5.9 }))).toEqual([
      "dear.test.ts took 6.1 s of 6.0 (5 s).",
    ]);
  });

  it("is greater for a conformance suite, and for the file that loads the modules of its worker", () => {
    const suite = file("store.suite.servers.test.ts", { cpu: 29 });
    expect(over({}, suite, file("first.test.ts", { cpu: 8, isFirst: true }))).toEqual([]);
  });

  it("does not hold for the rest", () => {
    const files = [file("dear.rest.test.ts", { project: "rest", cpu: 90 })];
    expect(overBudget({ wall: 100, cpu: 100, speed: 1, files }, limits)).toEqual([]);
  });
});

it("measures the CPU of this process, and of fixed loops", () => {
  const before = processCpu();
  let loops = 0;
  for (let ms = 0; ms < 50; loops += 1) {
    const { counting, memory } = measuredLoops();
    ms += counting + memory;
  }
  expect(loops).toBeGreaterThan(0);
  expect(processCpu().own).toBeGreaterThan(before.own);
});
