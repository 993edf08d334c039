import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvFields } from "../../src/dump/csv-rows.ts";

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
