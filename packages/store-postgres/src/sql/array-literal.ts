/** A parameter for `::text[]`. `pg` makes the same of an array, but searches each element twice for what must be escaped. */
export function textArray(values: readonly (string | null)[]): string {
  return `{${values.map((value) => (value === null ? "NULL" : `"${escaped(value)}"`)).join()}}`;
}

/** Most values need no escape, and asking costs less than replacing nothing. */
function escaped(value: string): string {
  return /["\\]/.test(value) ? value.replace(/["\\]/g, "\\$&") : value;
}

/** A parameter for an array of numbers. They need no quotes. */
export function numberArray(values: readonly (number | null)[]): string {
  return `{${values.map((value) => value ?? "NULL").join()}}`;
}
