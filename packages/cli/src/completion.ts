import { proposeCompletions } from "@stricli/core";
import { createApp } from "./app.ts";
import type { CliContext } from "./program/context.ts";

/** Prints the words that can follow on a command line. The shell calls the program with the words typed so far. */
export async function complete(context: CliContext, words: readonly string[]): Promise<void> {
  const [, ...inputs] = words; // the program's own name
  if (context.process.env["COMP_LINE"]?.endsWith(" ")) inputs.push("");
  for (const { completion } of await proposeCompletions(await createApp(context.process), inputs, context))
    context.output.data(completion);
}
