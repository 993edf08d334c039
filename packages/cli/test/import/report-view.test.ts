import { describe, expect, it } from "vitest";
import { reportView } from "../../src/import/report-view.ts";

const none = { read: 0, stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };
const report = {
  run: "3f2a",
  dryRun: false,
  interrupted: false,
  forms: ["gzip", "ndjson"],
  bytesRead: 4096,
  resumedAfter: 0,
  ledger: { read: 1010, stored: 800, duplicate: 100, conflict: 1, invalid: 9, filtered: 100, rejected: 0 },
  forced: 0,
  types: {
    "esim.enabled": { ...none, read: 300, stored: 300 },
    "esim.faulted": { ...none, read: 701, stored: 500, duplicate: 100, conflict: 1, filtered: 100 },
    "(none)": { ...none, read: 9, invalid: 9 },
  },
  span: { from: "2026-11-13T10:00:00.000Z", to: "2026-11-20T09:00:00.000Z" },
  damage: null,
};
const view = { rejectsFile: "dump.rejects.ndjson", width: 80 };

describe("reportView", () => {
  it("has the ledger, a bar for each type and the time span of the events", () => {
    expect(reportView(report, view)).toEqual([
      "LEDGER     RECORDS",
      "stored         800  new",
      "duplicate      100  already stored or done; not run again",
      "conflict         1  another body of a known id: see dump.rejects.ndjson",
      "invalid          9  not a valid event: see dump.rejects.ndjson",
      "filtered       100  left out by a filter, or without a handler",
      "rejected         0",
      "read         1,010",
      "",
      "esim.faulted  701  ███████████████████████████▒▒▒▒▒▒░░░░░░×",
      "esim.enabled  300  █████████████████",
      "(no type)       9  ×",
      "",
      "█ stored   ▒ duplicate   ░ filtered   × conflict, invalid or rejected",
      "events from 2026-11-13 10:00:00Z to 2026-11-20 09:00:00Z (6d 23h)",
    ]);
  });

  it("says that a dry run imported nothing", () => {
    expect(reportView({ ...report, dryRun: true }, view)[1]).toBe(
      "stored         800  would be imported: this was a dry run",
    );
  });

  it("says how many events were run again", () => {
    expect(reportView({ ...report, forced: 12 }, view)[1]).toBe(
      "stored         800  12 run again with --force, the others new",
    );
  });

  it("gives its duration and rate without the records of an earlier run", () => {
    const line = reportView({ ...report, resumedAfter: 10 }, { ...view, tookMs: 2000 })[7];
    expect(line).toBe("read         1,010  in 2s, 500 records a second");
  });

  it("says how to keep bad records when there is no rejects file", () => {
    expect(reportView(report, { ...view, rejectsFile: undefined })[4]).toBe(
      "invalid          9  not a valid event; --rejects <file> keeps them",
    );
  });

  it("sums up the rest of many types in one bar", () => {
    const types = Object.fromEntries(
      Array.from({ length: 30 }, (_, n) => [`type.${n}`, { ...none, read: 30 - n, stored: 30 - n }]),
    );
    const bars = reportView({ ...report, types }, view).slice(9, -3);
    expect(bars).toHaveLength(20);
    expect(bars.at(-1)).toMatch(/^11 more types +66 /);
  });

  it("says that the dump contains no records", () => {
    expect(reportView({ ...report, ledger: none, types: {}, span: null }, view)).toEqual([
      "The dump contains no records.",
    ]);
  });

  it.each([40, 60, 80])("fits into %i columns", (width) => {
    const lines = reportView(report, { ...view, width }).slice(0, -2);
    expect(lines.filter((line) => [...line].length > width)).toEqual([]);
  });
});
