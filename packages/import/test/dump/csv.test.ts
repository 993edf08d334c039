import { gzipSync } from "node:zlib";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { csvFields } from "../../src/dump/csv-rows.ts";
import { zipSync } from "./packing.ts";
import { contents, readBytes } from "./reading.ts";

it.each([
  ["an unnamed first column", ",eventId,payload\n0,a,b\n", { "": "0", eventId: "a", payload: "b" }],
  ["empty lines above its header", "\r\n\neventId,payload\r\na,b\r\n", { eventId: "a", payload: "b" }],
  ["bars between its columns", "eventId|payload\na|b\n", { eventId: "a", payload: "b" }],
  [
    "a line that names its separator",
    "sep=;\r\neventId;payload\r\na;b,c,d\r\n",
    { eventId: "a", payload: "b,c,d" },
  ],
  [
    "that line quoted, after a byte order mark",
    '\ufeff"sep=;"\r\neventId;payload\na;b',
    { eventId: "a", payload: "b" },
  ],
  ["a tab as its named separator", "sep=\t\n\neventId\tpayload\na\tb", { eventId: "a", payload: "b" }],
  ["that tab written \\t", "SEP=\\t\neventId\tpayload\na\tb", { eventId: "a", payload: "b" }],
  ["a separator that is not a usual one", "sep=^\neventId^payload\na^b", { eventId: "a", payload: "b" }],
  ["a byte order mark and tabs", "\ufeffeventId\tpayload\na\tb", { eventId: "a", payload: "b" }],
  [
    "a byte order mark and a quoted header",
    '\ufeff"eventId","payload"\n"a","b"',
    { eventId: "a", payload: "b" },
  ],
  ["lines that end with CR only", "eventId,payload\ra,b\r", { eventId: "a", payload: "b" }],
  ["CR only, and LF in a column", 'sep=;\r\reventId;payload\ra;"b\nc"\r', { eventId: "a", payload: "b\nc" }],
  ["lines that end with CR CR LF", "eventId,payload\r\r\na,b\r\r\n", { eventId: "a", payload: "b" }],
])("CSV with %s is read", async (_, text, record) => {
  const utf16 = Buffer.from(text, "utf16le");
  for (const bytes of [Buffer.from(text), utf16, Buffer.from(utf16).swap16()]) {
    for (const size of [1, 7, 1000]) {
      const { records, damage } = await readBytes(bytes, size);
      expect(damage).toBeUndefined();
      expect(contents(records)).toEqual([record]);
    }
  }
});

it.each([
  ["joined files with byte order marks", '\ufeff{"a":1}\n\ufeff{"a":2}\n'],
  ["joined arrays with byte order marks", '\ufeff[{"a":1}]\n\ufeff[{"a":2}]\n'],
  ["RS before each record (RFC 7464)", '\x1e{"a":1}\n\x1e{"a":2}\n'],
  ["RS before pretty records", '\x1e{\n"a":1}\n\x1e{\n"a":2}\n'],
  ["NUL after each record", '{"a":1}\0{"a":2}\0'],
  ["zeros at its end", `{"a":1}\n{"a":2}\n${"\0".repeat(512)}`],
])("JSON with %s is read", async (_, text) => {
  for (const size of [1, 7, 1000]) {
    const { records, damage } = await readBytes(text, size);
    expect(damage).toBeUndefined();
    expect(contents(records)).toEqual([{ a: 1 }, { a: 2 }]);
  }
});

describe("JSON", () => {
  const records = [{ eventId: "é" }, { eventId: "💡" }];
  const lines = records.map((record) => JSON.stringify(record));
  const layouts = {
    lines: lines.join("\n"),
    "lines that end with CR": lines.join("\r"),
    array: JSON.stringify(records),
  };

  it.each(Object.entries(layouts))(
    "%s: may be in UTF-16, with or without a byte order mark, packed or not",
    async (_, text) => {
      for (const mark of ["", "\ufeff"]) {
        const little = Buffer.from(mark + text, "utf16le");
        const big = Buffer.from(little).swap16();
        for (const bytes of [
          Buffer.from(mark + text),
          little,
          big,
          gzipSync(little),
          zipSync([{ name: "a", bytes: big }]),
        ]) {
          const found = await readBytes(bytes, 3);
          expect(found.damage).toBeUndefined();
          expect(contents(found.records)).toEqual(records);
        }
      }
    },
  );

  it("with a bad line among lines that end with CR has one fault", async () => {
    const { records: found } = await readBytes([lines[0], "{bad", lines[1]].join("\r"));
    expect(contents(found)).toEqual([records[0], "not_json", records[1]]);
    expect(found.map(({ position }) => position.line)).toEqual([1, 2, 3]);
  });

  it("that ends within a character of UTF-16 is damaged, after its records", async () => {
    const { records: found, damage } = await readBytes(
      Buffer.from(`${lines.join("\n")}\n{`, "utf16le").subarray(0, -1),
    );
    expect(contents(found)).toEqual(records);
    expect(damage?.message).toMatch(/not UTF-16LE within .* before byte \d+/);
  });
});

it("a CSV row after blank lines has its own line and offset", async () => {
  for (const size of [1, 7, 1000]) {
    const { records } = await readBytes('eventId,payload\n\n\na,"b\n\n"\n\nc,d', size);
    expect(records.map(({ position }) => position)).toMatchObject([
      { line: 4, offset: 18 },
      { line: 8, offset: 27 },
    ]);
  }
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
