import type { CliContext, Output } from "./context.ts";
import { errorCodeOf, exitCodes } from "./exit-code.ts";
import { programError } from "./program-error.ts";

/** npm forwards a Ctrl-C that the terminal has also sent to this process: signals within this time count as one. */
const echoMs = 300;

/**
 * Returns a signal that SIGINT or SIGTERM aborts, for a clean stop. A second SIGINT or SIGTERM ends the process immediately, with 130.
 * Standard output that is no longer read aborts the signal, too, but never ends the process. Call `release` when there is nothing left to
 * stop.
 * @param task what is finished first, for people
 */
export function stopSignal(
  { process, output }: Pick<CliContext, "process"> & { readonly output: Pick<Output, "note"> },
  task = "what has been accepted",
): { readonly signal: AbortSignal; release(): void } {
  const stopping = new AbortController();
  let firstAt = 0;
  const begin = () => {
    if (stopping.signal.aborted) return;
    firstAt = performance.now();
    output.note(`Stopping: finishing ${task}. Send the signal again to end immediately.`);
    stopping.abort();
  };
  const stop = () => {
    if (stopping.signal.aborted && performance.now() - firstAt > echoMs) process.exit(exitCodes.interrupted);
    begin();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  process.stdout.on("error", begin);
  return {
    signal: stopping.signal,
    release() {
      process.off("SIGINT", stop).off("SIGTERM", stop);
      process.stdout.off("error", begin);
    },
  };
}

/** For a command that continues an earlier run: `interrupted` in place of any error by which the abort shows. Any other error as it is. */
export function interruptedBy(signal: AbortSignal, error: unknown): unknown {
  const isAbort =
    error === signal.reason ||
    (error instanceof Error && error.name === "AbortError") ||
    errorCodeOf(error) === "aborted";
  if (!signal.aborted || !isAbort) return error;
  return programError("interrupted", "Interrupted.", "Run it again: it continues.");
}
