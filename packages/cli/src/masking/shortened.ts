/** As many as a store keeps of an error. */
const mostCharacters = 4000;

/** A text that fits on a screen: its beginning, and how much is left out. */
export function shortened(text: string): string {
  const more = text.length - mostCharacters;
  if (more <= 0) return text;
  return `${text.slice(0, mostCharacters)}… (${more.toLocaleString("en")} more characters)`;
}
