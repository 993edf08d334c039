import { type CliProcess, createContext } from "./program/context.ts";
import { exitCodeOfError, exitCodes } from "./program/exit-code.ts";
import { run } from "./run.ts";

process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  const isStopping = process.stdout.listenerCount("error") > 1; // a command that stops cleanly listens, too
  if (!isStopping) process.exit(); // the reader, such as head, has read enough
});
process.stderr.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error; // no process reads our messages any more: continue without them
});

const context = createContext(process as CliProcess);

// e.g. from a promise that a handler did not await: ends the process, with a message like every error's
process.on("uncaughtException", (error) => {
  context.output.note(context.output.describe(error));
  process.exit(exitCodeOfError(error));
});

// a program that is done calls process.exit: here the event loop is empty although a promise is still pending
process.once("beforeExit", () => {
  context.output.note(
    "Error (unexpected): A promise never settled, and nothing else is running. Check what the config awaits: its key source, its handlers.",
  );
  process.exit(exitCodes.unexpected);
});

process.exitCode = await run(process.argv.slice(2), context);
await Promise.all([process.stdout, process.stderr].map(flush));
process.exit(); // the config may have left something open, which would keep the process alive

function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}
