import { maskText } from "./masking.ts";
import { describeThrown, hasBrand, readThrown } from "./thrown.ts";

/**
 * An error as log lines show it. Its texts are masked: a handler's error may contain personal data. All other fields of the error are
 * left out: those of a database client's error may be the arguments of a login.
 */
export interface ShownError {
  /** The error's code, if it is text, masked. */
  readonly code?: string;
  /** The error's message, or else its name, masked. */
  readonly message: string;
  /** The stack: a line for each call, innermost first. Left out by `shownError` for an error of this project and its causes. */
  readonly stack?: string;
  /** The error that caused it. */
  readonly cause?: ShownError;
}

/** More causes than this are left out; a chain may even be a circle. */
const mostCauses = 5;

/** The error with its code and causes, without stacks if it is of this project: its message says what to do. */
export function shownError(error: unknown): ShownError {
  return shown(error, mostCauses, isOurs(error) ? noCalls : callsOf);
}

/** As `shownError`, with the stack also for errors of this project. */
export function tracedError(error: unknown): ShownError {
  return shown(error, mostCauses, callsOf);
}

/** The error's code and message. */
export function headOf({ code, message }: ShownError): string {
  return code === undefined ? message : `${code}: ${message}`;
}

/** Returns the lines of the error's stack, then for each cause a line with its code and message, and the lines of its stack. */
export function detailsOf({ stack, cause }: ShownError): readonly string[] {
  const calls = stack === undefined ? [] : stack.split("\n").map((call) => `      ${call}`);
  return cause === undefined ? calls : [...calls, `    cause: ${headOf(cause)}`, ...detailsOf(cause)];
}

/** The message of anything that can be thrown. */
export function messageOf(error: unknown): string {
  return describeThrown(error).message;
}

function shown(error: unknown, causesLeft: number, callsIn: typeof callsOf): ShownError {
  const { isError, name, message, stack, cause } = describeThrown(error);
  if (!isError) return { message: maskText(message) };
  if (name === "AggregateError" && message === "") return shown(cause, causesLeft, callsIn); // a host did not answer at any of its addresses
  const code = readThrown(error, "code");
  const calls = callsIn(stack);
  return {
    ...(typeof code === "string" && { code: maskText(code) }),
    message: maskText(message || name),
    ...(calls !== "" && { stack: maskText(calls) }),
    ...(cause !== undefined && causesLeft > 0 && { cause: shown(cause, causesLeft - 1, callsIn) }),
  };
}

/** The stack without the message that precedes it. */
function callsOf(stack: string): string {
  return stack
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.startsWith("at "))
    .join("\n");
}

function noCalls(): string {
  return "";
}

function isOurs(error: unknown): boolean {
  return hasBrand(error, Symbol.for("esim-webhooks.error"));
}
