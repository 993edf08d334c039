import type { IncomingMessage, ServerResponse } from "node:http";
import {
  createReceiver,
  createWorker,
  type InboxQueue,
  type Receiver,
  type Worker,
} from "@esim-webhooks/core";
import { createRoute, type Route } from "@esim-webhooks/core/engine";
import { createRunner, type Runner } from "@esim-webhooks/core/run";
import { Logger as NestLogger } from "@nestjs/common";
import type { DiscoveryService, HttpAdapterHost } from "@nestjs/core";
import { checkOptions, type EsimWebhooksOptions } from "./esim-webhooks-options.ts";
import { type FoundHandlers, findHandlers } from "./find-handlers.ts";
import { type EsimWebhooksHealth, nestHealth } from "./nest-health.ts";
import { nestLogger } from "./nest-logger.ts";

/** The receiver and the worker of the module, to inject or for `app.get(EsimWebhooks)`. */
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
): EsimWebhooks {
  const { path = "/webhooks", inbox, worker: workerOptions, ...others } = options;
  checkOptions(options);
  const logger = options.logger ?? nestLogger();
  const stop = new AbortController();
  let receiver: Receiver | undefined;
  let route: Route | undefined;
  let worker: Worker | undefined;
  let runner: Runner | undefined;
  let running: Promise<void> | undefined;

  const serve: Route = (request, response, next) => {
    if (route !== undefined) return route(request, response, next);
    return isSigned(request) ? answerStarting(response) : next();
  };
  // mounts this as soon as there is an adapter, before anything else: @nestjs/testing makes the adapter after the providers
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
      }
      const { store, deadlineMs } = others;
      runner = createRunner({ receiver, worker, inbox, store, shutdownMs: deadlineMs, logger });
      running = runner.run({ signal: stop.signal });
      logStart(receives ? `POST ${path}` : "no endpoint", inbox, worker, places);
    },
    async onModuleDestroy() {
      stop.abort();
      await running;
    },
  };

  return {
    get receiver() {
      return receiver;
    },
    get worker() {
      return worker;
    },
    isReady: (key = "esim-webhooks") => nestHealth(key, runner?.readiness),
    isLive: (key = "esim-webhooks") => nestHealth(key, runner?.liveness),
    ...hooks,
  } as EsimWebhooks;
}

function isSigned({ method, headers }: IncomingMessage): boolean {
  return method === "POST" && headers["webhook-signature"] !== undefined;
}

/** Answers 503 while the application is not initialized: Nest would answer 404, after which the sender does not retry. */
function answerStarting(response: ServerResponse): void {
  const headers = { "content-type": "application/problem+json", "retry-after": "5" };
  const problem = { type: "urn:esim-webhooks:starting", title: "Starting", status: 503, code: "starting" };
  response.writeHead(503, headers).end(JSON.stringify(problem));
}

const ownOptions = ["path", "inbox", "worker"];

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
