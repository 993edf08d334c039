import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskText } from "../../src/base/masking.ts";

describe("maskText", () => {
  it.each([
    ["an ICCID", "no SIM 8932042000001234567 here", "no SIM ••• here"],
    ["an ICCID in groups", "no SIM 8932 0420 0000 1234 567 here", "no SIM ••• here"],
    ["an EID", "eid=89049032123451234512345678901235", "eid=•••"],
    ["a number in international format", "call +32 470 12 34 56.", "call •••."],
    ["a number with brackets", "call +32 (0)470/12.34.56 now", "call ••• now"],
    ["an activation code", "LPA:1$smdp.example.com$ABC-123 failed", "••• failed"],
    ["an activation code without its scheme", "code 1$smdp.example.com$ABC-123", "code •••"],
    ["a number in groups of three", "call 555.123.456.789", "call •••"],
    ["a number behind a date", "2026-11-20 8932042000001234567", "2026-11-20 •••"],
    ["a number that looks like a date at first", "3247-01-02 345678", "•••"],
  ])("masks %s", (_name, text, shown) => {
    expect(maskText(text)).toBe(shown);
  });

  it.each([
    "Error: connect ECONNREFUSED 127.0.0.1:5432",
    "Error: connect ETIMEDOUT 192.168.100.200:5432",
    "2026-11-20T14:03:05.123Z and 2026-11-20 14:03",
    "it does not match its schema, at data.esimReference",
    "tried 10 times, 123456789 bytes",
  ])("leaves %j", (text) => {
    expect(maskText(text)).toBe(text);
  });

  const left = (more: string) => `… (${more} more characters)`;
  it.each([
    [
      "dates",
      "2026-11-20 ".repeat(100_000),
      `${"2026-11-20 ".repeat(364).slice(0, 4000)}${left("1,096,000")}`,
    ],
    [
      "a number behind dates",
      `${"2026-11-20 ".repeat(300)}8932042000001234567`,
      `${"2026-11-20 ".repeat(300)}•••`,
    ],
    ["digits", "1".repeat(20_000_000), "•••"],
    ["digits in pairs", "1 ".repeat(5_000_000), "••• "],
    ["short numbers", "123 x ".repeat(200_000), `${"123 x ".repeat(667).slice(0, 4000)}${left("1,196,000")}`],
    ["beginnings of URLs", "://a/".repeat(200_000), `${"://a/".repeat(800)}${left("996,000")}`],
    [
      "names of passwords",
      "password ".repeat(100_000),
      `${"password ".repeat(445).slice(0, 4000)}${left("896,000")}`,
    ],
    ["beginnings of activation codes", "1$a ".repeat(250_000), `${"1$a ".repeat(1000)}${left("996,000")}`],
  ])("masks a text of any length, and shows its first 4,000 characters: %s", (_name, text, shown) => {
    expect(maskText(text)).toBe(shown);
  });

  it("leaves no ten digits in a row in any text", () => {
    const text = fc
      .array(fc.oneof(fc.string(), fc.stringMatching(/^[0-9 .+-]{5,25}$/)))
      .map((parts) => parts.join(""));
    fc.assert(fc.property(text, (given) => !/\d{10}/.test(maskText(given))));
  });
});
