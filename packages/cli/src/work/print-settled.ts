import { type Logger, observe, type SettleMessage } from "@esim-webhooks/core";

const levels: Readonly<Record<SettleMessage["outcome"], "info" | "warn" | "error" | null>> = {
  done: "info",
  unhandled: "warn",
  retry: "warn",
  given_back: "warn",
  dead: "error",
  store_unavailable: "error",
  lost: null, // the worker logs it
};

/** Prints what becomes of each event in this process. Why is in the inbox, not here: it may name a person. */
export function printSettled(logger: Logger): () => void {
  return observe({
    settle({ durationMs: _, error: err, ...event }) {
      const level = levels[event.outcome];
      if (level !== null) logger[level]({ ...event, ...(err !== undefined && { err }) }, "event");
    },
  });
}
