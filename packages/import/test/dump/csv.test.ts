import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvFields } from "../../src/dump/csv-rows.ts";
import { contents, readBytes } from "./reading.ts";

it.each([
  ["an unnamed first column", ",eventId,payload\n0,a,b\n", { "": "0", eventId: "a", payload: "b" }],
  ["empty lines above its header", "\r\n\neventId,payload\r\na,b\r\n", { eventId: "a", payload: "b" }],
  ["bars between its columns", "eventId|payload\na|b\n", { eventId: "a", payload: "b" }],
])("CSV with %s is read", async (_, text, record) => {
  expect(contents((await readBytes(text)).records)).toEqual([record]);
});

describe("the fields of a CSV row", () => {
  it.each<[string, readonly string[] | undefined]>([
    ["a;b", ["a", "b"]],
    ["", [""]],
    [";", ["", ""]],
    ['"a;b";c', ["a;b", "c"]],
    ['"say ""a""";', ['say "a"', ""]],
    ['"";""', ["", ""]],
    ['"two\r\nlines";x', ["two\r\nlines", "x"]],
    ['a"b;c', undefined],
    ['"a"b;c', undefined],
    ['"a', undefined],
    ['"a""', undefined],
  ])("of %j are %j", (row, fields) => {
    expect(csvFields(row, ";")).toEqual(fields);
  });

  it("are the same as csv-parse reads, and a row that csv-parse refuses has none", () => {
    const part = fc.constantFrom("a", "é", " ", ",", '"', '""', '","', "\n", "\t", "\\");
    const row = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join(""));
    const options = { record_delimiter: "\0", relax_column_count: true, skip_empty_lines: false };
    const oracle = (text: string): readonly string[] | undefined => {
      try {
        const [fields, ...more] = parse(`${text}\0`, options) as string[][];
        return more.length === 0 ? fields : undefined;
      } catch {
        return undefined;
      }
    };
    fc.assert(
      fc.property(row, (text) => {
        expect(csvFields(text, ",")).toEqual(oracle(text));
      }),
      { numRuns: 5000 },
    );
  });
});
