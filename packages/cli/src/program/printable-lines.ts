import { replacement, unprintable } from "@esim-webhooks/core/log-lines";

const sequence = "\u001b\\[";
/** The colours of `Output.style` and of `Paint`, or an unprintable character. */
const colourOrUnprintable = new RegExp(`${sequence}(?:1|2|22|3[1236]|39)m|${unprintable.source}`, "gu");

/** Lines of output without characters that control the terminal. The colours of our own output stay. */
export function printableLines(text: string): string {
  return text.replace(colourOrUnprintable, (found) =>
    found === "\n" || found.length > 1 ? found : replacement,
  );
}
