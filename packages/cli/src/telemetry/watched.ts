import type { Catalog, DedupeStore, InboxAdmin, NodeHandler, Worker } from "@esim-webhooks/core";
import { hasRole } from "@esim-webhooks/core/kit";
import type { ConfigTarget } from "../set-up/config.ts";
import type { Workable } from "../set-up/open-target.ts";

/** What a running command consists of, for its metrics and probes. */
export interface Watched {
  readonly receiver?: NodeHandler;
  readonly inbox?: ConfigTarget | Workable | undefined;
  readonly store?: DedupeStore | undefined;
  readonly worker?: Worker | undefined;
  readonly catalog: Catalog<unknown> | undefined;
  /** Aborts when the command begins to stop. */
  readonly signal: AbortSignal;
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
