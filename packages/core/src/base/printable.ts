/** Control characters (C0, C1), lone surrogates, and characters that change the direction of text. */
export const unprintable: RegExp = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** The character in place of an unprintable one. */
export const replacement = "\ufffd";

/** Text from the network or a file, on one line and without characters that control the terminal. */
export function printable(value: unknown): string {
  return String(value)
    .replace(/[\n\t]/g, " ")
    .replace(unprintable, replacement);
}

/** Returns a value as one line of JSON, also without characters that control the terminal: of these, JSON itself escapes only C0. */
export function printableJson(value: unknown, replacer?: (name: string, value: unknown) => unknown): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return JSON.stringify(value, replacer).replace(unprintable, escaped);
}
