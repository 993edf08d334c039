import { describe, expect, it } from "vitest";
import { parseComingTime, parsePastTime, parseTime } from "../../src/flags/parsers.ts";

const now = Date.parse("2026-11-20T12:00:00Z");
const at = (text: string) => parseTime(text, now).toISOString();

describe("parseTime", () => {
  it("reads how long ago it was", () => {
    expect(["90s", "30m", "2h", "7d", "1w", "2h ago"].map(at)).toEqual([
      "2026-11-20T11:58:30.000Z",
      "2026-11-20T11:30:00.000Z",
      "2026-11-20T10:00:00.000Z",
      "2026-11-13T12:00:00.000Z",
      "2026-11-13T12:00:00.000Z",
      "2026-11-20T10:00:00.000Z",
    ]);
  });

  it("reads a date-time with its offset, and a day as midnight UTC", () => {
    expect(["2026-11-20T14:00:00Z", "2026-11-20T14:00+02:00", "2026-11-20"].map(at)).toEqual([
      "2026-11-20T14:00:00.000Z",
      "2026-11-20T12:00:00.000Z",
      "2026-11-20T00:00:00.000Z",
    ]);
  });

  it("reads today and yesterday, each as midnight UTC", () => {
    expect(["today", "yesterday"].map(at)).toEqual(["2026-11-20T00:00:00.000Z", "2026-11-19T00:00:00.000Z"]);
  });

  it.each([
    "",
    "tomorrow",
    "constructor",
    "2026-11-20T14:00:00",
    "2026-13-01",
    "-2h",
    "2 h",
    "1700000000",
    "99999999d",
  ])("refuses %j, and says what it accepts", (text) => {
    expect(() => parseTime(text, now)).toThrow(
      /not a point in time\. Write how long ago it was \(30m, 2h, 7d\)/,
    );
  });
});

describe("parsePastTime", () => {
  it("reads the same points in time, up to a day ahead: the clock of the service may be", () => {
    expect(parsePastTime("2h", now)).toEqual(parseTime("2h", now));
    expect(parsePastTime("2026-11-21T12:00:00Z", now)).toEqual(new Date("2026-11-21T12:00:00Z"));
  });

  it("refuses a later one, which would leave out every event until then", () => {
    expect(() => parsePastTime("2026-11-22", now)).toThrow(
      '"2026-11-22" is in the future. Write how long ago it was (30m, 2h, 7d), a day (today, yesterday, 2026-11-20',
    );
  });
});

describe("a time to come", () => {
  it("is a date-time with its offset, or a day", () => {
    const at = (text: string) => parseComingTime(text, now).toISOString();
    expect(["2026-11-20T14:00+01:00", "2026-11-21"].map(at)).toEqual([
      "2026-11-20T13:00:00.000Z",
      "2026-11-21T00:00:00.000Z",
    ]);
  });

  it.each([
    ["2026-11-20T11:59:59Z", "has passed. Write a date-time with its offset"],
    ["2026-11-20", "has passed."],
    ["2h", "is not a time to come."],
    ["yesterday", "is not a time to come."],
  ])("is not %s", (text, message) => {
    expect(() => parseComingTime(text, now)).toThrow(`"${text}" ${message}`);
  });
});
