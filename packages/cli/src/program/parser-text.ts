import { maskSecrets } from "@esim-webhooks/core/masking";
import {
  type ApplicationText,
  ArgumentParseError,
  EnumValidationError,
  FlagNotFoundError,
  text_en,
  UnexpectedPositionalError,
  UnsatisfiedFlagError,
  UnsatisfiedPositionalError,
} from "@stricli/core";
import { describeError } from "./error-text.ts";
import { printable } from "./printable.ts";

const seeHelp = "Run it with --help to see its commands and flags.";

/** The parser's messages, with a code and in two halves like all others. They name flags and arguments as they are written. */
export const text: ApplicationText = {
  ...text_en,
  exceptionWhileParsingArguments(error, ansiColor) {
    if (error instanceof FlagNotFoundError) {
      const corrections = error.corrections.map((name) => `--${name}`);
      return usage(`There is no flag --${error.input}.`, guess(corrections));
    }
    if (error instanceof EnumValidationError)
      return usage(
        `--${error.externalFlagName} ${error.input} is not possible.`,
        `Write one of: ${error.values.join(", ")}.`,
      );
    if (error instanceof ArgumentParseError) {
      const { externalFlagNameOrPlaceholder: name, exception } = error;
      const reason = exception instanceof Error ? exception.message : String(exception);
      return usage(`--${name}:`, reason.replace(/[^.?!]$/, "$&."));
    }
    if (error instanceof UnsatisfiedFlagError)
      return usage(`--${error.externalFlagName} has no value.`, `Write one after it. ${seeHelp}`);
    if (error instanceof UnsatisfiedPositionalError)
      return usage(`The argument <${error.placeholder}> is missing.`, seeHelp);
    if (error instanceof UnexpectedPositionalError) {
      const remedy = /^https?:\/\//.test(error.input) ? "Write --url before a URL." : "Remove it.";
      return usage(`"${error.input}" is one argument too many.`, `${remedy} ${seeHelp}`);
    }
    const problem = text_en.exceptionWhileParsingArguments.call(this, error, ansiColor);
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
  return printable(`Error (invalid_usage): ${maskSecrets(`${problem} ${remedy}`)}`); // it may quote a URL that was not expected there
}

function guess(corrections: readonly string[]): string {
  return corrections.length > 0 ? `Did you mean ${corrections.join(" or ")}?` : seeHelp;
}
