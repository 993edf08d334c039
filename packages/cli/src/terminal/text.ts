// C0, C1, what turns the direction of text, and what breaks lines: a dump's words must not drive a terminal
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu;

/** A text from outside on one line: what would move a cursor or hide text stands there as its code. */
export function printable(text: string): string {
  return text.replace(unprintable, (character) =>
    character === "\n" || character === "\t"
      ? " "
      : `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** How many columns a printable text takes, wide characters of East Asia aside. */
export function columnsOf(text: string): number {
  return [...text].length;
}

/** The text in so many columns; `…` stands for what was cut. */
export function cut(text: string, columns: number): string {
  const characters = [...text];
  if (characters.length <= columns) return text;
  return columns < 1 ? "" : `${characters.slice(0, columns - 1).join("")}…`;
}
