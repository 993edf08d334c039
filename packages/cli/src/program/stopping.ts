import { exitCodes } from "./exit-code.ts";
import type { Output } from "./output.ts";

/** npm passes on a Ctrl-C that the terminal has sent to this process too: the two are one. */
const echoMs = 300;

/** What is under way and can be stopped. */
let begin: (() => void) | undefined;

/**
 * Aborts at SIGINT or SIGTERM, for a clean stop. A second one ends the process at once, with 130.
 * Call the result's `release` once there is nothing left to stop.
 */
export function stopSignal(output: Output): { readonly signal: AbortSignal; release(): void } {
  const stopping = new AbortController();
  let firstAt = 0;
  begin = () => {
    if (stopping.signal.aborted) return;
    firstAt = performance.now();
    output.note("Stopping: what has been accepted is finished first. Once more ends it at once.");
    stopping.abort();
  };
  const stop = () => {
    if (stopping.signal.aborted && performance.now() - firstAt > echoMs) process.exit(exitCodes.interrupted);
    begin?.();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return {
    signal: stopping.signal,
    release() {
      begin = undefined;
      process.off("SIGINT", stop).off("SIGTERM", stop);
    },
  };
}

/** Stops what is under way as a first signal does. False where that is nothing, and the process may end. */
export function stopCleanly(): boolean {
  begin?.();
  return begin !== undefined;
}
