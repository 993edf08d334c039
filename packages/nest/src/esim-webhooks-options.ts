import {
  type EsimEvents,
  type InboxQueue,
  type InboxWriter,
  type Lifecycle,
  type Logger,
  type ReceiverOptions,
  WebhookError,
  type WorkerOptions,
} from "@esim-webhooks/core";
import { checkPlainPath } from "@esim-webhooks/core/engine";

/** The options of every receiver, and where events are received, stored and handled. */
export interface EsimWebhooksOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /**
   * The whole path of the endpoint, to which neither the global prefix nor versioning is added. `false` for a process that receives nothing,
   * such as a worker with health checks. A process without HTTP never receives. With `endpoints`, all requests below it are answered.
   * Default `"/webhooks"`.
   */
  path?: string | false;
  /** Stores events, for a worker. Without it, the handlers run inline, before the sender is answered. */
  inbox?: Pick<InboxWriter, "put"> & Partial<InboxQueue<Tx>> & Partial<Lifecycle>;
  /** Runs a worker in this process, which handles the events of `inbox`: `{}` for its defaults. Without it, a process with an `inbox` only stores. */
  worker?: Omit<WorkerOptions<Data>, "catalog" | "logger">;
  /** Gets the log lines. Default: the application's own logger. */
  logger?: Logger;
}

const where = "EsimWebhooksModule";

/** Checks the options that are not the receiver's nor the worker's. Throws `invalid_option`. */
export function checkOptions<Data, Tx>({
  path = "/webhooks",
  inbox,
  worker,
}: EsimWebhooksOptions<Data, Tx>): void {
  if (path !== false) checkPlainPath(where, path, "pass false in a process that receives nothing");
  if (worker === undefined || inbox !== undefined) return;
  throw new WebhookError(
    "invalid_option",
    "there is a worker but no inbox, so it has nothing to take events from.",
    "Pass an inbox such as sqliteInbox(…) or postgresInbox(…), or leave the worker out: handlers then run inline.",
    { where, option: "inbox" },
  );
}
