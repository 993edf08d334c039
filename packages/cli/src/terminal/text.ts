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
