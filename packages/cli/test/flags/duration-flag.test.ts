import { describe, expect, it } from "vitest";
import { parseDuration } from "../../src/flags/parsers.ts";

const range = { min: "1s", max: "1d" };

describe("the duration of a flag", () => {
  it.each([
    ["1s", 1000],
    ["90s", 90_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1d", 86_400_000],
  ])("is %s", (text, ms) => {
    expect(parseDuration(text, range)).toBe(ms);
  });

  it.each(["", "5", "5 m", "-5m", "1.5h", "0s", "2d", "500ms", "1h30m"])(
    'is refused as "%s", and the message has the range',
    (text) => {
      expect(() => parseDuration(text, range)).toThrow(
        `"${text}" is not a duration from 1s to 1d. Write a whole number and its unit: 30s, 5m, 2h, 1d.`,
      );
    },
  );

  it("shows only examples that the range has", () => {
    expect(() => parseDuration("1s", { min: "1m", max: "1d" })).toThrow(
      '"1s" is not a duration from 1m to 1d. Write a whole number and its unit: 5m, 2h, 1d.',
    );
  });
});
