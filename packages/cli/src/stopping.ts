import { exitCodes } from "./exit-code.ts";
import type { Output } from "./output.ts";

/** npm passes on a Ctrl-C that the terminal has sent to this process too: the two are one. */
const echoMs = 300;

/**
 * Aborts at SIGINT or SIGTERM, for a clean stop. A second one ends the process at once, with 130.
 * Call the result's `release` once there is nothing left to stop.
 */
export function stopSignal(output: Output): { readonly signal: AbortSignal; release(): void } {
  const stopping = new AbortController();
  let firstAt = 0;
  const stop = () => {
    if (stopping.signal.aborted) {
      if (performance.now() - firstAt > echoMs) process.exit(exitCodes.interrupted);
      return;
    }
    firstAt = performance.now();
    output.note("Stopping: what has been accepted is finished first. Once more ends it at once.");
    stopping.abort();
  };
  process.on("SIGINT", stop).on("SIGTERM", stop);
  return {
    signal: stopping.signal,
    release: () => void process.off("SIGINT", stop).off("SIGTERM", stop),
  };
}
