import { createWorker, type Handlers, type Logger, type Worker } from "@esim-webhooks/core";
import { naming } from "../program/naming.ts";
import { programError } from "../program/program-error.ts";
import type { Workable } from "../set-up/open-target.ts";
import type { SetUp } from "../set-up/set-up.ts";

/** A set-up with handlers. */
export type WorkingSetUp = SetUp & { readonly handlers: Handlers<unknown> };

/** Checks that the config has handlers. Throws `no_handlers`. */
export function withHandlers(setUp: SetUp): WorkingSetUp {
  const { file, handlers } = setUp;
  if (handlers !== undefined) return { ...setUp, handlers };
  throw programError(
    "no_handlers",
    file === undefined ? "There is no config file, so there are no handlers." : `${file} has no handlers.`,
    'Add them to esim-webhooks.config.ts: export default defineConfig({ handlers: { "esim.faulted": async ({ data }) => … } }).',
  );
}

/** A worker that runs the config's handlers. Throws as `createWorker` does. */
export function workerOf(
  inbox: Workable,
  { config, file, handlers, catalog }: WorkingSetUp,
  logger: Logger,
  concurrency?: number,
): Worker {
  const options = {
    ...config.worker,
    ...(concurrency !== undefined && { concurrency }),
    ...(catalog && { catalog }),
    logger,
  };
  return naming(file, () =>
    "createWorker" in inbox
      ? inbox.createWorker(handlers, options)
      : createWorker<unknown>(inbox, handlers, options),
  );
}
