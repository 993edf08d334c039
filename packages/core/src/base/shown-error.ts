import { maskText } from "./masking.ts";

/**
 * An error as log lines show it. Its texts are masked: a handler's error may contain personal data. Fields that it has of its own are
 * left out: those of a client's error may be the arguments of a login.
 */
export interface ShownError {
  /** Its code, if it has one. */
  readonly code?: string;
  /** Its message, or else its name. */
  readonly message: string;
  /** One line for each call, innermost first. Left out for errors of this project: their message says what to do. */
  readonly stack?: string;
  /** The error that caused it. */
  readonly cause?: ShownError;
}

/** More causes than this are left out; a chain may even be a circle. */
const mostCauses = 5;

/** The error with its code, its stack and its causes. */
export function shownError(error: unknown): ShownError {
  return shown(error, mostCauses, isOurs(error));
}

/** The same with the stack of any error. */
export function tracedError(error: unknown): ShownError {
  return shown(error, mostCauses, false);
}

/** Its code and its message. */
export function headOf({ code, message }: ShownError): string {
  return code === undefined ? message : `${code}: ${message}`;
}

/** Its stack, then each cause with its own: one line for each call. */
export function detailsOf({ stack, cause }: ShownError): readonly string[] {
  const calls = stack === undefined ? [] : stack.split("\n").map((call) => `      ${call}`);
  return cause === undefined ? calls : [...calls, `    cause: ${headOf(cause)}`, ...detailsOf(cause)];
}

/** The message of anything that can be thrown. */
export function messageOf(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    return "a value that cannot be converted to text"; // such as an object without a prototype
  }
}

function shown(error: unknown, causesLeft: number, withoutStack: boolean): ShownError {
  if (!(error instanceof Error)) return { message: maskText(messageOf(error)) };
  if (error instanceof AggregateError && error.message === "")
    return shown(error.errors[0], causesLeft, withoutStack); // one for each address of a host that does not answer
  const code = "code" in error && typeof error.code === "string" ? { code: maskText(error.code) } : {};
  const stack = withoutStack ? "" : callsOf(error);
  const { cause } = error;
  return {
    ...code,
    message: maskText(messageOf(error) || error.name),
    ...(stack !== "" && { stack: maskText(stack) }),
    ...(cause !== undefined && causesLeft > 0 && { cause: shown(cause, causesLeft - 1, withoutStack) }),
  };
}

/** The stack without the message that precedes it. */
function callsOf({ stack }: Error): string {
  return String(stack ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .join("\n");
}

function isOurs(error: unknown): boolean {
  return typeof error === "object" && error !== null && Symbol.for("esim-webhooks.error") in error;
}
