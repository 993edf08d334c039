import { describe, expect, it } from "vitest";
import { barChart } from "../../src/import/report-view.ts";

describe("barChart", () => {
  it("fills the width with the longest bar, and draws the others in proportion", () => {
    const bars = [
      { label: "esim.enabled", parts: [{ value: 2000, tone: "good" as const }] },
      { label: "esim.faulted", parts: [{ value: 1000, tone: "good" as const }] },
    ];
    expect(barChart(bars, { width: 41 })).toEqual([
      `esim.enabled  2,000  ${"█".repeat(20)}`,
      `esim.faulted  1,000  ${"█".repeat(10)}`,
    ]);
  });

  it("shows a small value as one cell, and zero as none", () => {
    const bars = [
      { label: "a", parts: [{ value: 1_000_000, tone: "good" as const }] },
      { label: "b", parts: [{ value: 1, tone: "good" as const }] },
      { label: "c", parts: [{ value: 0, tone: "good" as const }] },
    ];
    expect(barChart(bars, { width: 30 }).map((line) => line.replace(/[^█]/g, "").length)).toEqual([16, 1, 0]);
  });

  it("divides a bar among its parts, with a cell for the smallest", () => {
    const parts = [
      { value: 997, tone: "good" as const, mark: "█" },
      { value: 2, tone: "faint" as const, mark: "░" },
      { value: 1, tone: "bad" as const, mark: "▒" },
    ];
    expect(barChart([{ label: "t", parts }], { width: 20 })).toEqual([`t  1,000  ${"█".repeat(8)}░▒`]);
  });

  it("cuts a label that would leave no room for the bars", () => {
    const [line = ""] = barChart([{ label: "x".repeat(99), parts: [{ value: 5, tone: "good" }] }], {
      width: 60,
    });
    expect(line.startsWith(`${"x".repeat(29)}…  5  █`)).toBe(true);
  });

  it("has no lines for no bars", () => {
    expect(barChart([])).toEqual([]);
  });
});
