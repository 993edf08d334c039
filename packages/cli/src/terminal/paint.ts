import { styleText } from "node:util";

/** What a piece of output is; each has its colour. */
export type Tone = "strong" | "faint" | "good" | "warn" | "bad" | "accent";

/** Colours a text that is laid out already. */
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

/** The colours of a stream: none where it is no terminal, or by NO_COLOR; FORCE_COLOR has its way. */
export function paintFor(stream: NodeJS.WritableStream): Paint {
  return (tone, text) => styleText(formats[tone], text, { stream: stream as never });
}
