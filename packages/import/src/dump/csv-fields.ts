const quote = '"';

/** The fields of a row (RFC 4180) without its line end; undefined when a quote is in the wrong place. */
export function csvFields(row: string, delimiter: string): readonly string[] | undefined {
  if (!row.includes(quote)) return row.split(delimiter);
  const fields: string[] = [];
  for (let at = 0; ; at += delimiter.length) {
    let end: number;
    if (row.startsWith(quote, at)) {
      end = closingQuote(row, at + 1) + 1;
      if (end === 0) return undefined;
      fields.push(row.slice(at + 1, end - 1).replaceAll('""', quote));
    } else {
      const next = row.indexOf(delimiter, at);
      end = next === -1 ? row.length : next;
      const field = row.slice(at, end);
      if (field.includes(quote)) return undefined;
      fields.push(field);
    }
    if (end === row.length) return fields;
    if (!row.startsWith(delimiter, end)) return undefined;
    at = end;
  }
}

/** The index of the closing quote, or -1. A doubled quote is text. */
function closingQuote(row: string, from: number): number {
  let at = row.indexOf(quote, from);
  while (at !== -1 && row[at + 1] === quote) at = row.indexOf(quote, at + 2);
  return at;
}
