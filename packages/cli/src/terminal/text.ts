import { styleText } from "node:util";
import { hasColours } from "@esim-webhooks/core/log-lines";

/** The width and colours of a stream. */
export interface Layout {
  /** The terminal's columns. Left out without a terminal: no table is cut then. */
  readonly width?: number;
  readonly paint?: Paint;
}

export function layoutFor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Layout {
  const paint = paintFor(stream, env);
  return stream.isTTY && stream.columns > 0 ? { width: stream.columns, paint } : { paint };
}

/** Returns the columns that a printable text takes. Wide East Asian characters count as one, although terminals show them in two. */
export function columnsOf(text: string): number {
  return [...text].length;
}

/** The text, cut to this many columns; a cut text ends with `…`. */
export function cut(text: string, columns: number): string {
  const characters = [...text];
  if (characters.length <= columns) return text;
  return columns < 1 ? "" : `${characters.slice(0, columns - 1).join("")}…`;
}

/** The text with a capital letter, to begin a sentence. */
export function sentenceStart(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The text in lines of at most `width` columns, without a broken word: a longer word has a line of its own. */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && columnsOf(longer) > width) {
      lines.push(line);
      line = word;
    } else line = longer;
  }
  return [...lines, line];
}

/** The role of a piece of output, which decides its colour. */
export type Tone = "strong" | "faint" | "good" | "warn" | "bad" | "accent";

/** Adds colour to a text that already has its final width. */
export type Paint = (tone: Tone, text: string) => string;

const formats = {
  strong: "bold",
  faint: "dim",
  good: "green",
  warn: "yellow",
  bad: "red",
  accent: "cyan",
} as const;

export const unpainted: Paint = (_tone, text) => text;

/** Colours for a stream: if it is a terminal with colours, or as NO_COLOR and FORCE_COLOR say. */
function paintFor(stream: NodeJS.WriteStream, env: NodeJS.ProcessEnv): Paint {
  if (!hasColours(stream, env)) return unpainted;
  return (tone, text) => styleText(formats[tone], text, { validateStream: false });
}
