/** Sorts rows by the text of their key. Statements on many rows lock them in this order, so that two with the same keys cannot deadlock. */
export function inKeyOrder<Row>(rows: readonly Row[], textOf: (row: Row) => string): Row[] {
  return rows
    .map((row) => ({ row, text: textOf(row) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row);
}

/** A parameter for `::text[]`. `pg` makes the same of an array, but searches each element twice for what must be escaped. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${escaped(value)}"`)).join()}}`;
}

/** Most values need no escape, and the check costs less than a replacement of nothing. */
function escaped(value: string): string {
  return /["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value;
}

/** A parameter for an array of numbers. They need no quotes. */
export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join()}}`;
}
