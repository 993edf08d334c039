import { printable } from "@esim-webhooks/core/log-lines";
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
import type { CliProcess } from "./context.ts";
import { describeError } from "./error-text.ts";
import { maskOwnSecrets } from "./own-secrets.ts";

const seeHelp = "Run it with --help to see its commands and flags.";

/** The texts of the parser, and the width of the terminal for the texts of help. */
export interface ParserText extends ApplicationText {
  readonly columns: number;
}

/** The parser's messages, with a code and in two halves like all others. They name flags and arguments as they are written. */
export function parserText({ stdout, env }: Pick<CliProcess, "stdout" | "env">): ParserText {
  const describe = (error: unknown) => describeError(error, env);
  const usage = (problem: string, remedy: string) => {
    const quoting = maskSecrets(`${problem} ${remedy}`); // it may quote a URL that was not expected there
    return printable(`Error (invalid_usage): ${maskOwnSecrets(quoting, env)}`);
  };
  return {
    ...text_en,
    columns: stdout.columns || Number(env["COLUMNS"]) || 80,
    exceptionWhileParsingArguments(error, ansiColor) {
      const [problem, remedy] = mistakeIn(error) ?? [];
      if (problem !== undefined && remedy !== undefined) return usage(problem, remedy);
      const text = text_en.exceptionWhileParsingArguments.call(this, error, ansiColor);
      return usage(/[.?]$/.test(text) ? text : `${text}.`, seeHelp);
    },
    noCommandRegisteredForInput: ({ input, corrections }) =>
      usage(`There is no command "${input}".`, guess(corrections)),
    exceptionWhileLoadingCommandFunction: describe,
    exceptionWhileLoadingCommandContext: describe,
    exceptionWhileRunningCommand: describe,
    commandErrorResult: describe,
    exceptionWhileRunningIntegrationFlag: ({ exception }) => describe(exception),
    exceptionWhileRunningIntegrationHook: ({ exception }) => describe(exception),
  };
}

/** The problem and the remedy of a mistake in the arguments; undefined for one that has no text of ours. */
function mistakeIn(error: unknown): readonly [problem: string, remedy: string] | undefined {
  if (error instanceof FlagNotFoundError)
    return [`There is no flag --${error.input}.`, guess(error.corrections.map((name) => `--${name}`))];
  if (error instanceof EnumValidationError)
    return [
      `--${error.externalFlagName} ${error.input} is not possible.`,
      `Write one of: ${error.values.join(", ")}.`,
    ];
  if (error instanceof ArgumentParseError) {
    const { externalFlagNameOrPlaceholder: name, exception } = error;
    const reason = exception instanceof Error ? exception.message : String(exception);
    return [`--${name}:`, reason.replace(/[^.?!]$/, "$&.")];
  }
  if (error instanceof UnsatisfiedFlagError)
    return [
      `--${error.externalFlagName} needs a value.`,
      `Write --${error.externalFlagName} <value>. ${seeHelp}`,
    ];
  if (error instanceof UnsatisfiedPositionalError)
    return [`The argument <${error.placeholder}> is missing.`, seeHelp];
  if (error instanceof UnexpectedPositionalError) {
    const remedy = /^https?:\/\//.test(error.input) ? "Write --url before a URL." : "Remove it.";
    return [`"${error.input}" is one argument too many.`, `${remedy} ${seeHelp}`];
  }
  return undefined;
}

function guess(corrections: readonly string[]): string {
  return corrections.length > 0 ? `Did you mean ${corrections.join(" or ")}?` : seeHelp;
}
