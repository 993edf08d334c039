import { WebhookError } from "@esim-webhooks/core/log-lines";
import { flagText, shellWord } from "../program/shell.ts";
import type { Flags } from "./flag.ts";

/** How libraries write an option in a sentence: `{ force: true }`, `{ source: "eu" }`, `{ since }`, `the option port`. */
const optionInText = /\{ (\w+)(?:: (?:true|false|"([^"]*)"))? \}|the option (\w+)/g;

/** Flags of other commands, for options that the command itself does not have. */
const elsewhere: Readonly<Record<string, string>> = { since: "esim-webhooks reconcile --since" };

/** Replaces each option in a library's sentence by the flag that sets it. Options without a flag stay as they are. */
export function inFlags(sentence: string, flags: Flags): string {
  return sentence.replace(optionInText, (found, inBraces?: string, value?: string, named?: string) => {
    const option = inBraces ?? named ?? "";
    const name = Object.keys(flags).find((name) => flags[name]?.option === option);
    const flag = name === undefined ? elsewhere[option] : flagText(name);
    if (flag === undefined) return found;
    return value === undefined ? flag : `${flag} ${shellWord(value)}`;
  });
}

/** An error of a library with flags in place of options. Any other error as it is. */
export function errorInFlags(error: unknown, flags: Flags): unknown {
  if (!WebhookError.is(error)) return error;
  const { code, where, cause } = error;
  const [problem, remedy] = [inFlags(error.problem, flags), inFlags(error.remedy, flags)];
  if (problem === error.problem && remedy === error.remedy) return error;
  return new WebhookError<string>(code, problem, remedy, { where, cause });
}
