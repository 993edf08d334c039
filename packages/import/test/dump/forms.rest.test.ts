import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { gzipTwo, skippableFrame, zipSync, zstdTwo } from "./packing.ts";
import { contents, readBytes } from "./reading.ts";

const records = [
  { eventId: "evt_1", payload: { type: "esim.enabled", data: { note: 'a "quoted" \\ é 💡 [{' } } },
  { data: { list: [1, [2, { x: "]}" }]] } },
  { text: "line\nbreak", empty: {}, none: [] },
];
const lines = records.map((record) => JSON.stringify(record));
const page = (list: readonly unknown[]) => ({
  data: list,
  pagination: { limit: 3, hasMore: true, nextCursor: null },
});
const listed = [
  { eventId: "evt_1", payload: {}, data: [1, { data: [] }] },
  { data: [{ eventId: "inner" }, []], eventId: "evt_2", payload: {} },
  { body: "{}", data: [], headers: { eventId: "no" } },
];
const column = (text: string) => `"${text.replaceAll('"', '""')}"`;
const csv = ["eventId,payload", ...lines.map((line, i) => `evt_${i},${column(line)}`)].join("\r\n");
const rows = lines.map((line, i) => ({ eventId: `evt_${i}`, payload: line }));

const layouts: Record<string, { text: string; form: string; expected: unknown[] }> = {
  lines: { text: `${lines.join("\n")}\n`, form: "ndjson", expected: records },
  "lines with CRLF, empty lines and no final line end": {
    text: `\r\n${lines.join("\r\n\r\n")}`,
    form: "ndjson",
    expected: records,
  },
  "lines of arrays": {
    text: `${JSON.stringify(records)}\n${JSON.stringify(records)}`,
    form: "ndjson",
    expected: [...records, ...records],
  },
  "lines of pages": {
    text: `${JSON.stringify(page(records))}\n${JSON.stringify(page([]))}\n${JSON.stringify(page(records))}`,
    form: "ndjson",
    expected: [...records, ...records],
  },
  "lines of records that have a list called data as well": {
    text: `${JSON.stringify({ ...records[0], data: [] })}\n${lines[0]}`,
    form: "ndjson",
    expected: [{ ...records[0], data: [] }, records[0]],
  },
  "an array": { text: JSON.stringify(records), form: "json", expected: records },
  "a pretty array": { text: `\n ${JSON.stringify(records, null, 2)}\n`, form: "json", expected: records },
  "an array with a record a line": { text: `[\n${lines.join(",\n")}\n]\n`, form: "json", expected: records },
  "an array with the commas in front": {
    text: `[\n${lines.join("\n,\n")}\n]\n`,
    form: "json",
    expected: records,
  },
  "a page": { text: JSON.stringify(page(records)), form: "json", expected: records },
  "pages with nothing between": {
    text: JSON.stringify(page(records)) + JSON.stringify({ pagination: { data: [1] }, data: records }),
    form: "json",
    expected: [...records, ...records],
  },
  "pretty pages": {
    text: `${JSON.stringify(page(records), null, 2)}\n\n${JSON.stringify({ note: "data", ...page(records) }, null, "\t")}`,
    form: "json",
    expected: [...records, ...records],
  },
  "an array of pages, as jq -s writes": {
    text: JSON.stringify([page(records), page([]), page(records)], null, 2),
    form: "json",
    expected: [...records, ...records],
  },
  "an array of pages on one line": {
    text: JSON.stringify([page(records), page(records)]),
    form: "json",
    expected: [...records, ...records],
  },
  "pretty records that have a list called data as well": {
    text: listed.map((record) => JSON.stringify(record, null, 2)).join("\n"),
    form: "json",
    expected: listed,
  },
  "an array of records that have a list called data as well": {
    text: JSON.stringify([...listed, ["data", [1]]]),
    form: "json",
    expected: [...listed, "not_a_record"],
  },
  "objects with nothing between": { text: lines.join(""), form: "json", expected: records },
  "pretty objects": {
    text: records.map((record) => JSON.stringify(record, null, 2)).join("\n"),
    form: "json",
    expected: records,
  },
  "lines with a comma after each": { text: lines.join(",\n"), form: "json", expected: records },
  CSV: { text: csv, form: "csv", expected: rows },
  "CSV with semicolons": { text: csv.replaceAll(/^([^,"]*),/gm, "$1;"), form: "csv", expected: rows },
  "a byte order mark and lines": { text: `\ufeff${lines.join("\n")}`, form: "ndjson", expected: records },
  "a byte order mark and CSV": { text: `\ufeff${csv}`, form: "csv", expected: rows },
  nothing: { text: "", form: "", expected: [] },
  "only spaces": { text: " \r\n\n", form: "", expected: [] },
  "an empty array": { text: "[ ]", form: "json", expected: [] },
};

const zip = (bytes: Buffer, rest = {}) => zipSync([{ name: "dump", bytes, ...rest }]);
const packings: Record<string, { pack: (bytes: Buffer) => Buffer; forms: string[] }> = {
  plain: { pack: (bytes) => bytes, forms: [] },
  gzip: { pack: gzipSync, forms: ["gzip"] },
  "gzip of two members": { pack: gzipTwo, forms: ["gzip"] },
  "gzip filled up with zeros": {
    pack: (b) => Buffer.concat([gzipSync(b), Buffer.alloc(999)]),
    forms: ["gzip"],
  },
  zstd: { pack: zstdCompressSync, forms: ["zstd"] },
  "zstd of two frames, skippable ones among them": { pack: zstdTwo, forms: ["zstd"] },
  "zstd that ends with a skippable frame": {
    pack: (bytes) => Buffer.concat([zstdCompressSync(bytes), skippableFrame(Buffer.alloc(99), 0x184d2a5f)]),
    forms: ["zstd"],
  },
  "ZIP, deflate": { pack: (bytes) => zip(bytes), forms: ["zip"] },
  "ZIP, stored": { pack: (bytes) => zip(bytes, { method: "stored" }), forms: ["zip"] },
  "ZIP, sizes after the data": { pack: (bytes) => zip(bytes, { descriptor: true }), forms: ["zip"] },
  "ZIP, 64-bit": { pack: (bytes) => zip(bytes, { zip64: true }), forms: ["zip"] },
  "ZIP, 64-bit sizes after the data": {
    pack: (bytes) => zip(bytes, { zip64: true, descriptor: true }),
    forms: ["zip"],
  },
  "gzip in a ZIP": { pack: (bytes) => zip(gzipSync(bytes)), forms: ["zip", "gzip"] },
  "zstd in gzip in a ZIP": {
    pack: (b) => zip(gzipSync(zstdCompressSync(b))),
    forms: ["zip", "gzip", "zstd"],
  },
};

describe.concurrent.each(Object.entries(packings))("%s", (_, { pack, forms }) => {
  it.each(Object.entries(layouts))(
    "of %s yields its records, however it is cut into chunks",
    async (_, layout) => {
      const bytes = pack(Buffer.from(layout.text));
      const whole = await readBytes(bytes);
      expect(whole.damage).toBeUndefined();
      expect(contents(whole.records)).toEqual(layout.expected);
      expect(whole.forms).toEqual([...forms, layout.form].filter(Boolean));
      for (const size of [1, 2, 3, 7, 100]) expect(await readBytes(bytes, size)).toEqual(whole);
    },
  );
});

describe("pages that are longer than a record may be", () => {
  const all = Array.from({ length: 40 }, (_, n) => ({ eventId: `evt_${n}`, payload: { n } }));
  it.each([
    ["one", JSON.stringify(page(all), null, 1)],
    ["several in an array", JSON.stringify([page(all), page(all)])],
    ["one behind a long field", JSON.stringify({ note: "x".repeat(500), ...page(all) })],
  ])("are read record by record: %s", async (_, text) => {
    for (const chunkBytes of [1, 7, 64, 100_000]) {
      const { records: found, damage } = await readBytes(text, chunkBytes, { maxRecordBytes: 200 });
      expect(damage).toBeUndefined();
      expect(contents(found)).toEqual(text.startsWith("[") ? [...all, ...all] : all);
      for (const { position } of found) {
        expect(text.slice(position.offset).replaceAll(/\s/g, "")).toMatch(/^\{"eventId"/);
      }
    }
  });
});
