import type { Output } from "./context.ts";
import { errorCodeOf, exitCodes } from "./exit-code.ts";
import { ProgramError } from "./program-error.ts";

/** npm forwards a Ctrl-C that the terminal has also sent to this process: signals within this time count as one. */
const echoMs = 300;

/** Starts a clean stop; undefined while nothing is running that can be stopped. */
let beginStop: (() => void) | undefined;

/**
 * Returns a signal that SIGINT or SIGTERM aborts, for a clean stop. A second one ends the process immediately, with 130.
 * Call `release` when there is nothing left to stop.
 * @param task what is finished first, for people
 */
export function stopSignal(
  output: Output,
  task = "what has been accepted",
): { readonly signal: AbortSignal; release(): void } {
  const stopping = new AbortController();
  let firstAt = 0;
  beginStop = () => {
    if (stopping.signal.aborted) return;
    firstAt = performance.now();
    output.note(`Stopping: finishing ${task}. Send the signal again to end immediately.`);
    stopping.abort();
  };
  const stop = () => {
    if (stopping.signal.aborted && performance.now() - firstAt > echoMs) process.exit(exitCodes.interrupted);
    beginStop?.();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return {
    signal: stopping.signal,
    release() {
      beginStop = undefined;
      process.off("SIGINT", stop).off("SIGTERM", stop);
    },
  };
}

/** The error of a command that continues what an earlier run began: one for each way in which an abort shows. */
export function interruptedBy(signal: AbortSignal, error: unknown): unknown {
  const isAbort =
    error === signal.reason ||
    (error instanceof Error && error.name === "AbortError") ||
    errorCodeOf(error) === "aborted";
  if (!signal.aborted || !isAbort) return error;
  return new ProgramError("interrupted", "Interrupted.", "Run it again: it continues.");
}

/** Starts a clean stop, as a first signal does. False when nothing is running and the process may end. */
export function stopCleanly(): boolean {
  beginStop?.();
  return beginStop !== undefined;
}
