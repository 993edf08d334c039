import { isUtf8 } from "node:buffer";
import type { CsvHeader } from "./csv-header.ts";
import { type CsvRow, createCsvRows } from "./csv-rows.ts";
import { damagedDump } from "./damage.ts";
import type { DumpLimits } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Splitter } from "./splitter.ts";

type Fields = readonly string[];

/**
 * Reads CSV with a header (RFC 4180): each row is an object, column → text. Rows are split here, so that one may be damaged or
 * too large without the others, and their fields are read by csv-parse.
 * @param start the offset of the first byte
 */
export async function createCsvReader(
  records: Recorder,
  { maxRecordBytes }: DumpLimits,
  { delimiter, columns }: CsvHeader,
  start: number,
): Promise<Splitter> {
  // not before there is CSV: nobody else pays for it
  const { parse } = await import("csv-parse/sync");
  const options = { delimiter, record_delimiter: ["\r\n", "\n"], relax_column_count: true };
  const rows = createCsvRows(delimiter, maxRecordBytes, start);
  let isHeader = true;

  /** The fields of each row; undefined where one of them is no CSV, whichever it is. */
  function fieldsOf(bytes: readonly Buffer[]): readonly Fields[] | undefined {
    const text = Buffer.concat(bytes.flatMap((one) => [one, lineEnd]));
    try {
      const parsed: string[][] = isUtf8(text) ? parse(text, options) : [];
      return parsed.length === bytes.length ? parsed : undefined;
    } catch {
      return undefined;
    }
  }

  function read(found: readonly CsvRow[]): void {
    const all = found.flatMap(({ bytes }) => (bytes && !isBlank(bytes) ? [bytes] : []));
    const together = fieldsOf(all)?.values();
    for (const row of found) {
      if (!row.bytes) tooLarge(row);
      else if (!isBlank(row.bytes))
        readRow(row, row.bytes, together?.next().value ?? fieldsOf([row.bytes])?.[0]);
    }
  }

  function readRow(row: CsvRow, bytes: Buffer, fields: Fields | undefined): void {
    if (isHeader) {
      isHeader = false;
    } else if (fields?.length === columns.length) {
      const value = Object.fromEntries(columns.map((column, index) => [column, fields[index]]));
      records.value(value, row.offset, row.line);
    } else {
      const at = { offset: row.offset, line: row.line, text: bytes.toString("utf8") };
      if (isUtf8(bytes)) records.fault("not_a_record", whyNoRow(fields), at);
      else records.fault("not_json", "not UTF-8", at);
    }
  }

  function whyNoRow(fields: Fields | undefined): string {
    if (!fields) return "not CSV: a quote stands where none may be";
    return `has ${fields.length} columns where the header has ${columns.length}`;
  }

  function tooLarge({ offset, line }: CsvRow): void {
    records.fault("too_large", `longer than ${maxRecordBytes} bytes`, { offset, line });
  }

  return {
    write: (bytes) => read(rows.write(bytes)),
    end() {
      const last = rows.end();
      if (last === "open") throw damagedDump("The CSV ends within quotes.");
      if (last) read([last]);
    },
  };
}

const lineEnd = Buffer.from("\n");

function isBlank(bytes: Buffer): boolean {
  return bytes.byteLength === 0 || (bytes.byteLength === 1 && bytes[0] === 0x0d);
}
