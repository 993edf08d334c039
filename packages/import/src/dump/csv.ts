import { isUtf8 } from "node:buffer";
import { csvFields } from "./csv-fields.ts";
import type { CsvHeader } from "./csv-header.ts";
import { type CsvRow, createCsvRows } from "./csv-rows.ts";
import { damagedDump } from "./damage.ts";
import type { DumpLimits } from "./record.ts";
import type { Recorder } from "./recorder.ts";
import type { Splitter } from "./splitter.ts";

/**
 * Reads CSV with a header (RFC 4180): each row becomes an object, column → text. A row that is damaged or too large is a
 * fault, and does not affect the others.
 * @param start the offset of the first byte
 */
export function createCsvReader(
  records: Recorder,
  { maxRecordBytes }: DumpLimits,
  { delimiter, columns }: CsvHeader,
  start: number,
): Splitter {
  const rows = createCsvRows(delimiter, maxRecordBytes, start);
  let isHeader = true;

  function read({ offset, line, bytes }: CsvRow): void {
    if (bytes === undefined) {
      records.fault("too_large", `longer than ${maxRecordBytes} bytes`, { offset, line });
      return;
    }
    const text = textOf(bytes);
    if (text === "") return;
    if (isHeader) {
      isHeader = false;
      return;
    }
    const fields = csvFields(text, delimiter);
    if (!isUtf8(bytes)) {
      records.fault("not_json", "not UTF-8", { offset, line, text });
    } else if (fields?.length === columns.length) {
      records.value(Object.fromEntries(columns.map((column, i) => [column, fields[i]])), offset, line);
    } else {
      records.fault("not_a_record", rowProblem(fields), { offset, line, text });
    }
  }

  function rowProblem(fields: readonly string[] | undefined): string {
    if (!fields) return "not CSV: a quote is in the wrong place";
    return `has ${fields.length} columns, but the header has ${columns.length}`;
  }

  return {
    write(bytes) {
      for (const row of rows.write(bytes)) read(row);
    },
    end() {
      const last = rows.end();
      if (last === "open") throw damagedDump("The CSV ends inside a quoted field.");
      if (last) read(last);
    },
  };
}

/** The text of a row, without the CR of a CRLF. */
function textOf(bytes: Buffer): string {
  const isCut = bytes.at(-1) === 0x0d;
  return bytes.toString("utf8", 0, isCut ? bytes.byteLength - 1 : bytes.byteLength);
}
