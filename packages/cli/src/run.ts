import { run as runApp } from "@stricli/core";
import { commandIn, createApp } from "./app.ts";
import type { CliContext } from "./program/context.ts";
import { exitCodeOfParser } from "./program/exit-code.ts";
import { onWarning } from "./program/warnings.ts";

/** Runs the command of these arguments. When it resolves, the exit code is set and nothing is left to do. */
export async function run(args: readonly string[], context: CliContext): Promise<void> {
  const { process, output } = context;
  onWarning(process, ({ code, message }) => output.note(`Warning (${code}): ${message}`));
  if (args[0] === "__complete") {
    const { complete } = await import("./completion.ts");
    await complete(context, args.slice(1));
  } else {
    await runApp(await createApp(context, commandIn(args)), args, context);
  }
  process.exitCode = exitCodeOfParser(process.exitCode);
}
