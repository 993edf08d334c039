/** A foreign text for a message: one line, without control characters, cut to `most` characters. */
export function oneLine(text: string, most: number): string {
  const line = [
    ...text
      .slice(0, most * 4)
      .replace(/[\p{C}\p{Z}]+/gu, " ")
      .trim(),
  ];
  return line.length > most ? `${line.slice(0, most - 1).join("")}…` : line.join("");
}
