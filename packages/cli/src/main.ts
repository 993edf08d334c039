import { run } from "@stricli/core";
import { calledIn, createApp } from "./app.ts";
import { createContext } from "./program/context.ts";
import { describeError } from "./program/error-text.ts";
import { exitCodeOfError, exitCodeOfParser, exitCodes } from "./program/exit-code.ts";
import { stopCleanly } from "./program/stopping.ts";
import { hearWarnings } from "./program/warnings.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (!stopCleanly()) process.exit(); // who read it, as head does, has read enough
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error; // nobody hears what it says any more: that stops no work
});

const context = createContext(process);

hearWarnings(({ code, message }) => context.output.note(`Warning (${code}): ${message}`));

// of a promise that a handler did not wait for: it ends the process, and is told like every error
process.on("uncaughtException", (error) => {
  context.output.note(describeError(error));
  process.exit(exitCodeOfError(error));
});

// what has ended, exits: nothing else is left to wait for, and something is waited for
process.once("beforeExit", () => {
  context.output.note(
    "Error (unexpected): It waits for what never comes. Look at what the config awaits: its key source, its handlers.",
  );
  process.exit(exitCodes.unexpected);
});

const args = process.argv.slice(2);
if (args[0] === "__complete") {
  const { complete } = await import("./completion.ts");
  await complete(context, args.slice(1));
} else {
  await run(await createApp(calledIn(args)), args, context);
}
process.exitCode = exitCodeOfParser(process.exitCode);
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(); // a config may have left something open, which would keep it running

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}
