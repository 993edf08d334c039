// C0 and C1, half characters, and what turns the direction of text
const steering = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** Text that came over the network, or out of a file, on one line: it must not steer the terminal. */
export function printable(value: unknown): string {
  return String(value)
    .replace(/[\n\t]/g, " ")
    .replace(steering, "\ufffd");
}

/** A value as one line of JSON that does not steer the terminal either: JSON itself escapes no more than C0. */
export function printableJson(value: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, replacer).replace(steering, escaped);
}
