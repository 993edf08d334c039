import { describeThrown, type Thrown } from "../base/thrown.ts";

/** The beginning of each frame of a stack, in the form that V8 writes. */
export const frameStart = "\n    at ";

const mostFrames = 10;
const mostCauses = 5;
const causeStart = ": caused by: ";

/** The thrown value, as an inbox keeps it for operators: its name and message, those of its causes, then the first frames of its stack. */
export function errorText(thrown: unknown): string {
  const described = describeThrown(thrown);
  return [withCauses(described.text, thrown), ...framesOf(described)].join(frameStart);
}

/** Adds its causes to the message of an error: `Error: CRM failed: caused by: TypeError: fetch failed`. Repeats no message. */
export function withCauses(message: string, thrown: unknown): string {
  let text = message;
  const seen = new Set([thrown]);
  for (
    let { cause } = describeThrown(thrown);
    cause !== undefined && cause !== null && !seen.has(cause) && seen.size <= mostCauses;
  ) {
    seen.add(cause);
    const described = describeThrown(cause);
    if (!text.includes(described.message)) text = text.replace(/\.$/, "") + causeStart + described.text;
    cause = described.cause;
  }
  return text;
}

/** Shortens the text of an error to at most `most` characters. If it has causes, keeps the beginning of each. */
export function fittedError(text: string, most: number): string {
  if (text.length <= most) return text;
  const [message = "", ...causes] = text.split(causeStart);
  const share = Math.floor(most / (causes.length + 1));
  const rest = causes.map((cause) => (causeStart + cause).slice(0, share)).join("");
  return message.slice(0, most - rest.length) + rest;
}

/** Returns the first frames of a stack, without the message before them. */
export function framesOf({ message, stack }: Pick<Thrown, "message" | "stack">): readonly string[] {
  const [, ...frames] = stack.slice(stack.indexOf(message) + message.length).split(frameStart);
  return frames.slice(0, mostFrames);
}

/** The error of an event, as an inbox keeps it, in its two parts. */
export interface KeptError {
  /** Why the event is not done: the name and message of the thrown value and of its causes, or a text if nothing was thrown. Null: there is no error. */
  readonly error: string | null;
  /** A line per frame. Null: nothing was thrown, or its stack is not known. */
  readonly stack: string | null;
}

/** Splits the error of an event, as an inbox keeps it. Null: there is no error. */
export function readErrorText(text: string | null): KeptError {
  const [error = null, ...frames] = text?.split(frameStart) ?? [];
  return { error, stack: stackText(frames) };
}

/** Writes the frames of a stack, a line each. Null if there are none. */
export function stackText(frames: readonly string[]): string | null {
  return frames.length === 0 ? null : frames.map((frame) => `at ${frame}`).join("\n");
}
