/** Sorts rows by the text of their key. All statements lock rows in this order, so that two with the same keys cannot deadlock. */
export function inKeyOrder<Row>(rows: readonly Row[], textOf: (row: Row) => string): Row[] {
  return rows
    .map((row) => ({ row, text: textOf(row) }))
    .sort((a, b) => (a.text < b.text ? -1 : 1))
    .map(({ row }) => row);
}
