import type { Logger } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/kit";

const longIntervals = 10;

/** Warns, once for each pass, when the pass of another process is under way for longer than ten intervals. */
export function createLongPassWarning(
  fields: { readonly endpoint: string; readonly source: string },
  logger: Logger,
  everyMs: number,
): (runner: string | null) => void {
  let known: string | null = null;
  let sinceMs = 0;
  let isWarned = false;
  return (runner) => {
    if (runner !== known) {
      known = runner;
      sinceMs = monotonicClock.now();
      isWarned = false;
    }
    const heldMs = monotonicClock.now() - sinceMs;
    if (runner === null || isWarned || heldMs < longIntervals * everyMs) return;
    isWarned = true;
    logger.warn(
      { ...fields, run: runner, heldMs },
      "Another process has been in one pass for longer than ten intervals. See its log: its handlers or its store may be slow.",
    );
  };
}
