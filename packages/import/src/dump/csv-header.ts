/** The first row of a CSV file. */
export interface CsvHeader {
  readonly delimiter: string;
  readonly columns: readonly string[];
}

// a comma (RFC 4180), or what spreadsheets write in countries with a decimal comma
const delimiters = [",", ";", "\t"];
const columnName = /^[\p{L}_][\p{L}\p{N}_.\-/]*( [\p{L}\p{N}_\-/]+){0,2}(?<![.\-/])$/u;

/** Reads the header of CSV; undefined when the first line of the text is not a header. */
export function csvHeader(text: string): CsvHeader | undefined {
  const line = /^[^\n]*/.exec(text)?.[0].trimEnd() ?? "";
  if (line.length > 4096) return undefined;
  const headers = delimiters.map((delimiter) => ({
    delimiter,
    columns: line.split(delimiter).map(unquoted),
  }));
  const header = headers.reduce((most, other) => (other.columns.length > most.columns.length ? other : most));
  return header.columns.length > 1 && header.columns.every((name) => columnName.test(name))
    ? header
    : undefined;
}

function unquoted(column: string): string {
  return column.trim().replace(/^"(.*)"$/, "$1");
}
