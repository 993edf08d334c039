/** The columns that a printable text takes, counting wide East Asian characters as one. */
export function columnsOf(text: string): number {
  return [...text].length;
}

/** The text, cut to this many columns; a cut text ends with `…`. */
export function cut(text: string, columns: number): string {
  const characters = [...text];
  if (characters.length <= columns) return text;
  return columns < 1 ? "" : `${characters.slice(0, columns - 1).join("")}…`;
}
