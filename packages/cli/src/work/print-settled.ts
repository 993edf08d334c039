import type { Logger } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";

const levels: Readonly<Record<SettleMessage["outcome"], "info" | "warn" | "error" | null>> = {
  done: "info",
  unhandled: "warn",
  retry: "warn",
  given_back: "warn",
  dead: null, // the worker logs it
  store_unavailable: "error",
  lost: null, // the worker logs it
};

/**
 * Logs the outcome of each event of an inbox that this process settles: by our workers, or by processors in an engine's own.
 * Returns a function that stops it.
 */
export function printSettled(logger: Logger, from: SettleMessage["by"]): () => void {
  return observe({
    settle({ by, durationMs, error: err, ...event }) {
      if (by !== from) return; // the receiver logs what is handled inline
      const level = levels[event.outcome];
      if (level !== null)
        logger[level](
          { ...event, durationMs: Math.round(durationMs), ...(err !== undefined && { err }) },
          "event",
        );
    },
  });
}
