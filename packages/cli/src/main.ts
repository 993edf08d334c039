import { run } from "@stricli/core";
import { commandIn, createApp } from "./app.ts";
import { createContext } from "./program/context.ts";
import { describeError } from "./program/error-text.ts";
import { exitCodeOfError, exitCodeOfParser, exitCodes } from "./program/exit-code.ts";
import { stopCleanly } from "./program/stopping.ts";
import { onWarning } from "./program/warnings.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  if (!stopCleanly()) process.exit(); // the reader, such as head, has read enough
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error; // no process reads our messages any more: continue without them
});

const context = createContext(process);

onWarning(({ code, message }) => context.output.note(`Warning (${code}): ${message}`));

// e.g. from a promise that a handler did not await: ends the process, with a message like every error's
process.on("uncaughtException", (error) => {
  context.output.note(describeError(error));
  process.exit(exitCodeOfError(error));
});

// a program that is done calls process.exit: here the event loop is empty although a promise is still pending
process.once("beforeExit", () => {
  context.output.note(
    "Error (unexpected): A promise never settled, and nothing else is running. Check what the config awaits: its key source, its handlers.",
  );
  process.exit(exitCodes.unexpected);
});

const args = process.argv.slice(2);
if (args[0] === "__complete") {
  const { complete } = await import("./completion.ts");
  await complete(context, args.slice(1));
} else {
  await run(await createApp(commandIn(args)), args, context);
}
process.exitCode = exitCodeOfParser(process.exitCode);
await Promise.all([process.stdout, process.stderr].map(written));
process.exit(); // the config may have left something open, which would keep the process alive

function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}
