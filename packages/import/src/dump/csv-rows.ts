import { byteBuffer } from "@esim-webhooks/core/internal";

/** One row of CSV. */
export interface CsvRow {
  readonly offset: number;
  readonly line: number;
  /** Its bytes, without the byte that ends its line. Undefined when it is longer than a record may be. */
  readonly bytes: Buffer | undefined;
}

/**
 * Splits CSV into rows, at line ends outside quotes (RFC 4180). Skips blank lines. Holds one row in memory.
 * Our own reader, because csv-parse 7 loses the rows after a faulty one: after one that is too large ("a row of 10 million
 * characters" in test/dump/limits.test.ts), and after a quote in the wrong place ("of CSV is a fault of one row only", damage.test.ts).
 */
export interface CsvRows {
  write(bytes: Buffer): CsvRow[];
  /** The last row, if no line end follows it; "open" if it ends inside quotes. */
  end(): CsvRow | "open" | undefined;
  /** Returns the row that is held, if there is one. The bytes after it begin another row. */
  cut(): CsvRow | undefined;
}

const quote = 0x22;

/**
 * @param start the offset of the first byte
 * @param newline the byte that ends a line
 */
export function createCsvRows(
  delimiter: string,
  maxRecordBytes: number,
  start: number,
  newline: number,
): CsvRows {
  const separator = delimiter.charCodeAt(0);
  let offset = start; // of the row
  let line = 1; // of the row
  let lines = 0; // within the row
  let kept = byteBuffer(maxRecordBytes);
  let length = 0;
  let isQuoted = false;
  // a quote opens a field only at its beginning; later in the field it is text
  let mayOpen = true;

  function keep(bytes: Buffer): void {
    if (length <= maxRecordBytes) kept.add(Buffer.from(bytes));
    length += bytes.byteLength;
  }

  function finish(last: Buffer): CsvRow {
    const isOne = length === 0;
    if (!isOne) keep(last);
    const size = isOne ? last.byteLength : length;
    const bytes = size > maxRecordBytes ? undefined : isOne ? last : Buffer.from(kept.bytes());
    const row = { offset, line, bytes };
    offset += size + 1;
    line += lines + 1;
    lines = 0;
    if (!isOne) kept = byteBuffer(maxRecordBytes);
    length = 0;
    mayOpen = true;
    return row;
  }

  return {
    write(bytes) {
      const rows: CsvRow[] = [];
      let from = 0;
      for (let i = 0; i < bytes.byteLength; i++) {
        const byte = bytes[i] as number;
        if (byte === quote) {
          // a doubled quote closes and opens again
          isQuoted = !isQuoted && mayOpen;
          mayOpen = !isQuoted;
        } else if (isQuoted) {
          if (byte === newline) lines++;
        } else if (byte === newline) {
          if (i === from && length === 0) {
            offset++; // a blank line
            line++;
          } else rows.push(finish(bytes.subarray(from, i)));
          from = i + 1;
        } else {
          mayOpen = byte === separator;
        }
      }
      if (from < bytes.byteLength) keep(bytes.subarray(from));
      return rows;
    },
    cut() {
      if (length === 0) return undefined;
      const row = finish(Buffer.alloc(0));
      isQuoted = false;
      offset--; // there is no line end
      return row;
    },
    end: () => (isQuoted ? "open" : length > 0 ? finish(Buffer.alloc(0)) : undefined),
  };
}

/** The fields of a row (RFC 4180) without its line end; undefined when a quote is in the wrong place. */
export function csvFields(row: string, delimiter: string): readonly string[] | undefined {
  if (!row.includes('"')) return row.split(delimiter);
  const fields: string[] = [];
  for (let at = 0; ; at += delimiter.length) {
    let end: number;
    if (row.startsWith('"', at)) {
      end = closingQuote(row, at + 1) + 1;
      if (end === 0) return undefined;
      fields.push(row.slice(at + 1, end - 1).replaceAll('""', '"'));
    } else {
      const next = row.indexOf(delimiter, at);
      end = next === -1 ? row.length : next;
      const field = row.slice(at, end);
      if (field.includes('"')) return undefined;
      fields.push(field);
    }
    if (end === row.length) return fields;
    if (!row.startsWith(delimiter, end)) return undefined;
    at = end;
  }
}

/** The index of the closing quote, or -1. A doubled quote is text. */
function closingQuote(row: string, from: number): number {
  let at = row.indexOf('"', from);
  while (at !== -1 && row[at + 1] === '"') at = row.indexOf('"', at + 2);
  return at;
}
