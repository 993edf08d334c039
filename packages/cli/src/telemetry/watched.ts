import type { Catalog, InboxAdmin, Logger, ToleranceSeconds, Worker } from "@esim-webhooks/core";
import { watchTroubles } from "@esim-webhooks/core/health";
import { hasRole } from "@esim-webhooks/core/internal";
import type { ConfigTarget } from "../set-up/config.ts";
import type { Workable } from "../set-up/open-target.ts";

/** The sources of a running command's metrics. */
export interface Watched {
  readonly inbox: ConfigTarget | Workable | undefined;
  readonly worker: Worker | undefined;
  readonly catalog: Catalog<unknown> | undefined;
}

/** The options of `instrument` and `metricsHandler`. */
export function measured({ inbox, worker, catalog }: Watched): {
  readonly inbox?: InboxAdmin;
  readonly worker?: Worker;
  readonly catalog?: Catalog<unknown>;
} {
  return {
    ...(inbox !== undefined && hasRole(inbox, "admin") && { inbox }),
    ...(worker && { worker }),
    ...(catalog && { catalog }),
  };
}

/** Logs silence and trouble as they begin and end. Returns a function that ends the logging. */
export function logTroubles(
  watched: Watched,
  logger: Logger,
  toleranceSeconds?: ToleranceSeconds,
): () => Promise<void> {
  const { inbox } = measured(watched);
  const watch = watchTroubles({
    ...(inbox && { inbox }),
    ...(toleranceSeconds !== undefined && { toleranceSeconds }),
    logger,
  });
  return async () => watch.close();
}
