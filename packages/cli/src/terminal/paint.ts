import { styleText } from "node:util";

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

/** Colours for a stream: only for a terminal, and as NO_COLOR and FORCE_COLOR say. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (tone, text) => styleText(formats[tone], text, { stream: stream as never });
}
