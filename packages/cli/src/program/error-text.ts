import { type ApplicationText, FlagNotFoundError, text_en } from "@stricli/core";
import { maskText } from "../masking/mask-text.ts";
import { errorCodeOf } from "./exit-code.ts";
import { printable } from "./printable.ts";

const debugVariable = "ESIM_WEBHOOKS_DEBUG";

/** An error as text: its code, what is wrong, how to mend it. With a stack only when ESIM_WEBHOOKS_DEBUG is set. */
export function describeError(error: unknown): string {
  const code = errorCodeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const text = printable(
    code === undefined
      ? `Error (unexpected): ${maskText(message).replace(/[^.!?]$/, "$&.")} Set ${debugVariable}=1 to see where it comes from.`
      : `Error (${code}): ${message}${causeOf(error)}`,
  );
  if (!process.env[debugVariable]) return text;
  return `${text}\n${process.getBuiltinModule("node:util").inspect(error)}`;
}

/** The message of the innermost cause, such as the host that refused or the missing permission. Empty without a cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "";
  let { cause } = error;
  while (cause instanceof Error && cause.cause !== undefined) cause = cause.cause;
  if (!(cause instanceof Error)) return "";
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const message = (first instanceof Error ? first.message : String(first)).replace(/\.$/, "");
  const isKnown = message === "" || error.message.includes(message);
  return isKnown ? "" : ` Cause: ${message}.`;
}

const seeHelp = "Run it with --help to see its commands and flags.";

/** The parser's messages, with a code and in two halves like all others. */
export const text: ApplicationText = {
  ...text_en,
  exceptionWhileParsingArguments(error, ansiColor) {
    const problem = text_en.exceptionWhileParsingArguments.call(this, error, ansiColor);
    if (error instanceof FlagNotFoundError) {
      const corrections = error.corrections.map((name) => `--${name}`);
      return usage(`There is no flag --${error.input}.`, guess(corrections));
    }
    return usage(/[.?]$/.test(problem) ? problem : `${problem}.`, seeHelp);
  },
  noCommandRegisteredForInput: ({ input, corrections }) =>
    usage(`There is no command "${input}".`, guess(corrections)),
  exceptionWhileLoadingCommandFunction: describeError,
  exceptionWhileLoadingCommandContext: describeError,
  exceptionWhileRunningCommand: describeError,
  commandErrorResult: describeError,
  exceptionWhileRunningIntegrationFlag: ({ exception }) => describeError(exception),
  exceptionWhileRunningIntegrationHook: ({ exception }) => describeError(exception),
};

function usage(problem: string, remedy: string): string {
  return `Error (invalid_usage): ${problem} ${remedy}`;
}

function guess(corrections: readonly string[]): string {
  return corrections.length > 0 ? `Did you mean ${corrections.join(" or ")}?` : seeHelp;
}
