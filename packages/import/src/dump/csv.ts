import { isUtf8 } from "node:buffer";
import { type CsvRow, createCsvRows, csvFields } from "./csv-rows.ts";
import { damagedDump } from "./errors.ts";
import type { DumpLimits, Recorder, Splitter } from "./record.ts";

/** The row of a CSV file that names its columns. */
export interface CsvHeader {
  readonly delimiter: string;
  readonly columns: readonly string[];
  /** Whether a line before this row names the delimiter, in the form that Excel reads: `sep=;`. */
  readonly isNamed: boolean;
}

// a comma (RFC 4180), or what spreadsheets write in countries with a decimal comma
const delimiters = [",", ";", "\t", "|"];
const columnName = /^[\p{L}_][\p{L}\p{N}_.\-/]*( [\p{L}\p{N}_\-/]+){0,2}(?<![.\-/])$/u;

const separatorLine = /^[\r\n]*"?sep=(\\t|[^\w\s"\\]|\t)"?[,;|\t ]*\r*(?:\n|$)/i;

/** Reads the header of CSV; undefined when the first line with text is not one. pandas and R leave the first column unnamed. */
export function csvHeader(text: string): CsvHeader | undefined {
  const named = delimiterNamed(text);
  const line = /^[\r\n]*([^\n]*)/.exec(text.slice(named?.end ?? 0))?.[1]?.trimEnd() ?? "";
  if (line.length > 4096) return undefined;
  const headers = (named ? [named.delimiter] : delimiters).map((delimiter) => ({
    delimiter,
    isNamed: named !== undefined,
    columns: line.split(delimiter).map(unquoted),
  }));
  const header = headers.reduce((most, other) => (other.columns.length > most.columns.length ? other : most));
  return header.columns.length > 1 &&
    header.columns.every((name, i) => columnName.test(name) || (i === 0 && name === ""))
    ? header
    : undefined;
}

/** The delimiter in Excel's line `sep=;`, which may be quoted, and where the line ends. A tab may be written `\t`. */
function delimiterNamed(text: string): { readonly delimiter: string; readonly end: number } | undefined {
  const [line, name] = separatorLine.exec(text) ?? [];
  if (line === undefined || name === undefined) return undefined;
  return { delimiter: name === "\\t" ? "\t" : name, end: line.length };
}

function unquoted(column: string): string {
  return column.trim().replace(/^"(.*)"$/, "$1");
}

/**
 * Reads CSV with a header (RFC 4180): each row becomes an object, column → text. A row that is damaged or too large is a
 * fault, and does not affect the others, unless a quoted field in it is never closed.
 * @param start the offset of the first byte
 * @param newline the byte that ends a line
 */
export function createCsvReader(
  records: Recorder,
  { maxRecordBytes }: DumpLimits,
  { delimiter, columns, isNamed }: CsvHeader,
  start: number,
  newline: number,
): Splitter {
  const rows = createCsvRows(delimiter, maxRecordBytes, start, newline);
  let header: string | undefined;
  // after a gap within a row, the next row becomes a fault: its first column may lack characters, which the text cannot show
  let isRest = false;

  function read({ offset, line, bytes }: CsvRow): void {
    if (bytes === undefined) {
      records.fault("too_large", `longer than ${maxRecordBytes} bytes`, { offset, line });
      return;
    }
    const text = utf8Text(bytes);
    if (/^\0*$/.test(text) || (isNamed && separatorLine.test(text))) return;
    header ??= text;
    if (text === header) return; // the header occurs again where files were joined
    if (isRest) {
      isRest = false;
      records.fault("not_a_record", "cut: bytes before it are missing", { offset, line, text });
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
    gap() {
      const row = rows.cut();
      if (row === undefined) return;
      isRest = true;
      const { offset, line, bytes } = row;
      records.fault("not_a_record", "cut: bytes after it are missing", {
        offset,
        line,
        text: bytes && utf8Text(bytes),
      });
    },
    end() {
      const last = rows.end();
      if (last === "open") throw damagedDump("The CSV ends inside a quoted field.");
      if (last) read(last);
    },
  };
}

/** The text of a row, without the CR of a CRLF, and without the byte order mark of a joined file. */
function utf8Text(bytes: Buffer): string {
  let end = bytes.byteLength;
  while (bytes[end - 1] === 0x0d) end--;
  return bytes.toString("utf8", 0, end).replace(/^\ufeff/, "");
}
