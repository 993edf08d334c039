/** A parameter for `::text[]`. `pg` makes the same of an array, but searches each element twice for what must be escaped. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${value.replace(/["\\]/g, "\\$&")}"`)).join()}}`;
}

/** A parameter for an array of numbers. They need no quotes. */
export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join()}}`;
}
