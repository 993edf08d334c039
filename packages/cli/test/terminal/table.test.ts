import { describe, expect, it } from "vitest";
import { table } from "../../src/terminal/table.ts";

const columns = [
  { title: "ID", cuts: true as const },
  { title: "TRIES", align: "right" as const },
  { title: "ERROR", cuts: true as const },
];

describe("table", () => {
  it("aligns its columns under their titles, numbers to the right", () => {
    const rows = [
      ["evt_1", "3", "Error: no"],
      ["evt_1000", "12", ""],
    ];
    expect(table(columns, rows)).toEqual([
      "ID        TRIES  ERROR",
      "evt_1         3  Error: no",
      "evt_1000     12",
    ]);
  });

  it("cuts the widest column that may be cut on a narrow terminal", () => {
    const rows = [["evt_00000001", "3", "Error: the shop did not answer"]];
    const lines = table(columns, rows, { width: 40 });
    expect(lines).toEqual(["ID            TRIES  ERROR", "evt_00000001      3  Error: the shop di…"]);
    expect(lines.every((line) => line.length <= 40)).toBe(true);
  });

  it("cuts nothing without a terminal", () => {
    const long = "e".repeat(500);
    expect(table(columns, [["1", "2", long]])[1]).toContain(long);
  });

  it("adds colours after the layout, so that they move nothing", () => {
    const paint = (tone: string, text: string) => `<${tone}>${text}</>`;
    const rows = [[{ text: "a", tone: "bad" as const }, { text: "1", tone: "good" as const }, ""]];
    expect(table(columns, rows, { paint })).toEqual([
      "<faint>ID</>  <faint>TRIES</>  <faint>ERROR</>",
      "<bad>a</>       <good>1</>",
    ]);
  });
});
