import { createWorker, type Handlers, type Logger, type Worker } from "@esim-webhooks/core";
import { observe, type SettleMessage } from "@esim-webhooks/core/observe";
import { naming } from "../program/explained.ts";
import { ProgramError } from "../program/program-error.ts";
import type { Workable } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** A set-up with handlers. */
export type WorkingSetUp = SetUp & { readonly handlers: Handlers<unknown> };

/** Checks that the config has handlers. Throws `no_handlers`. */
export function withHandlers(setUp: SetUp): WorkingSetUp {
  const { file, handlers } = setUp;
  if (handlers !== undefined) return { ...setUp, handlers };
  throw new ProgramError(
    "no_handlers",
    file === undefined ? "There is no config file, so there are no handlers." : `${file} has no handlers.`,
    'Add them to esim-webhooks.config.ts: export default defineConfig({ handlers: { "esim.faulted": async ({ data }) => … } }).',
  );
}

/** A worker that runs the config's handlers and logs the outcome of each event. Throws as `createWorker` does. */
export function startWorker(
  inbox: Workable,
  { config, file, handlers, catalog }: WorkingSetUp,
  logger: Logger,
  concurrency?: number,
): { readonly worker: Worker; run(signal: AbortSignal): Promise<void> } {
  const options = {
    ...config.worker,
    ...(concurrency !== undefined && { concurrency }),
    ...(catalog && { catalog }),
    logger: withoutRuns(logger),
  };
  const hasOwn = "createWorker" in inbox;
  const worker = naming(file, () =>
    hasOwn ? inbox.createWorker(handlers, options) : createWorker<unknown>(inbox, handlers, options),
  );
  return {
    worker,
    async run(signal) {
      const stopPrinting = printSettled(logger, hasOwn ? "processor" : "worker");
      await worker.run({ signal }).finally(stopPrinting);
    },
  };
}

/** Without the worker's line for each run of a handler: the line of its settlement, which follows, says more. */
function withoutRuns(logger: Logger): Logger {
  const info: Logger["info"] = (fields, message) =>
    message !== "webhook event" && logger.info(fields, message);
  return { ...logger, info };
}

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
function printSettled(logger: Logger, from: SettleMessage["by"]): () => void {
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
