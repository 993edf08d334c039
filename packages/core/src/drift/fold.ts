/** The replacement of a name or a value that is not kept. */
export const folded = "*";

/** How many field names a type has at most. Further ones are folded. */
export const mostFields = 64;

/**
 * Returns the name of a field as it is kept. A name may be data, as in a map by ICCID: a name with digits, with more than 40 characters
 * or with characters that no field of the API has becomes `*`.
 */
export function foldField(name: string): string {
  return /^[A-Za-z][A-Za-z_-]{0,39}$/.test(name) ? name : folded;
}

/** Returns a value of an enumeration as it is kept: `*` unless it looks like a word of an enumeration. */
export function foldValue(value: string): string {
  return /^[a-z_.-]{1,40}$/.test(value) ? value : folded;
}

/** Returns an event type as it is kept. */
export function foldType(type: string): string {
  return /^[A-Za-z][\w.-]{0,79}$/.test(type) ? type : folded;
}
