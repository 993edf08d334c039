import { run as runApp } from "@stricli/core";
import { commandIn, createApp } from "./app.ts";
import type { CliContext } from "./program/context.ts";
import { exitCodeOfParser } from "./program/exit-code.ts";
import { onWarning } from "./program/warnings.ts";

/** Runs the command line with these arguments. Resolves when the command is done, to its exit code. */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const { process, output, atEnd } = context;
  onWarning(process, ({ code, message }) => output.note(`Warning (${code}): ${message}`));
  if (args[0] === "__complete") {
    const { complete } = await import("./completion.ts");
    await complete(context, args.slice(1));
  } else await runApp(await createApp(process, commandIn(args)), args, context);
  for (const step of atEnd) await step();
  return exitCodeOfParser(process.exitCode);
}
