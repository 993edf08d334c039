import { setTimeout as pause } from "node:timers/promises";
import {
  createReceiver,
  createWorker,
  type EsimEvents,
  type InboxAdmin,
  type InboxQueue,
  type InboxWriter,
  type Lifecycle,
  type Logger,
  type Receiver,
  type ReceiverOptions,
  WebhookError,
  type Worker,
  type WorkerOptions,
} from "@esim-webhooks/core";
import { type HealthHandler, livenessHandler, readinessHandler } from "@esim-webhooks/core/health";
import { createRoute, isPlainPath, type Route } from "@esim-webhooks/core/kit";
import { Logger as NestLogger } from "@nestjs/common";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { type FoundHandlers, findHandlers } from "./find-handlers.ts";
import { nestLogger } from "./nest-logger.ts";

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
  /** Runs a worker in this process, which handles the events of `inbox`: `{}` for its defaults. Without it, this process only stores. */
  worker?: Omit<WorkerOptions<Data>, "catalog" | "logger">;
  /** Gets the log lines. Default: the application's own logger. */
  logger?: Logger;
}

/** In the form of Terminus: the names of the checks with `"up"` or the code of the fault. */
export type EsimWebhooksHealth = Record<
  string,
  { readonly status: "up" | "down" } & Readonly<Record<string, string>>
>;

/** What the module has made, to inject or for `app.get(EsimWebhooks)`. */
export abstract class EsimWebhooks {
  /** Undefined until the application is initialized, and in a process that receives nothing. */
  abstract readonly receiver: Receiver | undefined;
  /** Undefined until the application is initialized, and in a process that has no worker. */
  abstract readonly worker: Worker | undefined;
  /** A health indicator for readiness: whether this process can do its work now. As `readinessHandler` of core. */
  abstract isReady(key?: string): Promise<EsimWebhooksHealth>;
  /** A health indicator for liveness: whether this process need not be restarted. As `livenessHandler` of core. */
  abstract isLive(key?: string): Promise<EsimWebhooksHealth>;
}

/** The middleware, receiver and worker of one module, and the hooks in which Nest starts and stops them. */
export function createEsimWebhooks<Data, Tx>(
  options: EsimWebhooksOptions<Data, Tx>,
  host: HttpAdapterHost,
  discovery: DiscoveryService,
  closeStores: boolean,
): EsimWebhooks {
  const { path = "/webhooks", inbox, worker: workerOptions, ...others } = options;
  checkPath(path);
  if (workerOptions !== undefined && inbox === undefined) throw missingInbox();
  const logger = options.logger ?? nestLogger();
  const stop = new AbortController();
  let receiver: Receiver | undefined;
  let route: Route | undefined;
  let worker: Worker | undefined;
  let running: Promise<void> | undefined;
  let readiness: HealthHandler;
  let liveness: ReturnType<typeof livenessHandler>;

  const serve: Route = (request, response, next) =>
    route === undefined ? next() : route(request, response, next);
  // as soon as there is an adapter, so that nothing is mounted before it: @nestjs/testing has one after its providers
  if (path !== false) host.init$.subscribe(() => void host.httpAdapter?.use(serve));

  const hooks = {
    onApplicationBootstrap() {
      const receives = path !== false && Boolean(host.httpAdapter);
      const needsHandlers = workerOptions !== undefined || (inbox === undefined && receives);
      const { handlers, places } = needsHandlers ? findHandlers(discovery) : { handlers: {}, places: {} };
      const target = inbox ?? handlers;
      if (receives) {
        receiver = createReceiver<Data, Tx>(target as never, { ...others, logger }, ownOptions);
        route = createRoute(receiver, path, logger);
      }
      if (workerOptions !== undefined) {
        const { catalog } = others;
        const settings = { ...workerOptions, ...(catalog && { catalog }), logger };
        worker = createWorker<Data, Tx>(inbox as InboxQueue<Tx>, handlers as never, settings);
        running = worker.run({ signal: stop.signal });
      }
      readiness = readinessHandler({
        ...(receiver && { receiver }),
        ...(inbox && { inbox }),
        ...(others.store && { store: others.store }),
        signal: stop.signal,
        logger,
      });
      liveness = livenessHandler({ ...(worker && { worker }), ...(hasGauges(inbox) && { inbox }), logger });
      logStart(receives ? `POST ${path}` : "no endpoint", inbox, worker, places);
    },
    async onModuleDestroy() {
      stop.abort();
      liveness?.close();
      // the sender has its answer by then, also from a handler that never ends
      const timeLimit = pause(others.deadlineMs ?? 25_000, undefined, { ref: false });
      await Promise.all([receiver && Promise.race([receiver.close(), timeLimit]), running]);
    },
    async onApplicationShutdown() {
      if (closeStores) await Promise.all([inbox?.close?.(), others.store?.close?.()]);
    },
  };

  return {
    get receiver() {
      return receiver;
    },
    get worker() {
      return worker;
    },
    isReady: (key = "esim-webhooks") => healthOf(key, readiness),
    isLive: (key = "esim-webhooks") => healthOf(key, liveness),
    ...hooks,
  } as EsimWebhooks;
}

const ownOptions = ["path", "inbox", "worker"];

function checkPath(path: unknown): void {
  if (path === false || isPlainPath(path)) return;
  throw new WebhookError(
    "invalid_option",
    "the path is not a plain path.",
    'Write the whole path of the endpoint\'s URL, such as "/webhooks", or false for a process that receives nothing.',
    { where: "EsimWebhooksModule", option: "path" },
  );
}

function missingInbox(): WebhookError {
  return new WebhookError(
    "invalid_option",
    "there is a worker but no inbox, so it has nothing to take events from.",
    "Pass an inbox such as sqliteInbox(…) or postgresInbox(…), or leave the worker out: handlers then run inline.",
    { where: "EsimWebhooksModule", option: "inbox" },
  );
}

/** A line like those of Nest for routes: what is handled where. */
function logStart(
  endpoint: string,
  inbox: object | undefined,
  worker: Worker | undefined,
  places: FoundHandlers["places"],
): void {
  const mode =
    inbox === undefined ? "handlers run inline" : worker ? "a worker runs here" : "events are stored";
  const lines = Object.entries(places).map(([name, place]) => `${name} → ${place}`);
  new NestLogger("EsimWebhooksModule").log([`Webhooks: ${endpoint}, ${mode}`, ...lines].join("; "));
}

async function healthOf(key: string, handler: HealthHandler): Promise<EsimWebhooksHealth> {
  const { ok, checks } = await handler.check();
  const shown = checks.map(({ name, code = "up" }) => [name, code]);
  return { [key]: { ...Object.fromEntries(shown), status: ok ? "up" : "down" } };
}

function hasGauges(inbox: object | undefined): inbox is Pick<InboxAdmin, "gauges"> {
  return typeof (inbox as Partial<InboxAdmin> | undefined)?.gauges === "function";
}
