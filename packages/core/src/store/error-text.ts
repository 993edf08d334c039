/** What begins each frame of a stack, in the form that V8 writes. */
export const frameStart = "\n    at ";

const mostFrames = 10;

/** What was thrown, as an inbox keeps it for operators: its name and message, then the first frames of its stack. */
export function errorText(thrown: unknown): string {
  try {
    if (!(thrown instanceof Error)) return String(thrown);
    return [`${thrown.name}: ${thrown.message}`, ...framesOf(thrown)].join(frameStart);
  } catch {
    return "A value was thrown that cannot be converted to text."; // such as an object without a prototype
  }
}

/** The frames alone: the text before them repeats the message. */
export function framesOf({ message, stack = "" }: Pick<Error, "message" | "stack">): readonly string[] {
  const [, ...frames] = stack.slice(stack.indexOf(message) + message.length).split(frameStart);
  return frames.slice(0, mostFrames);
}

export interface KeptError {
  readonly error: string | null;
  /** A line per frame. Null: nothing was thrown, or its stack is not known. */
  readonly stack: string | null;
}

/** Splits the text that an inbox keeps of an error. */
export function readErrorText(text: string | null): KeptError {
  const [error = null, ...frames] = text?.split(frameStart) ?? [];
  return { error, stack: stackText(frames) };
}

export function stackText(frames: readonly string[]): string | null {
  return frames.length === 0 ? null : frames.map((frame) => `at ${frame}`).join("\n");
}
