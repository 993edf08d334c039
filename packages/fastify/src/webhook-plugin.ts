import {
  createReceiver,
  discardRest,
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  type Logger,
  type Receiver,
  type ReceiverOptions,
  receiveRequest,
  type Target,
  WebhookError,
  watchMisses,
} from "@esim-webhooks/core";
import { isInbox } from "@esim-webhooks/core/kit";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
  RouteOptions,
} from "fastify";
import fastifyPlugin from "fastify-plugin";

/** `handlers` or an `inbox`, and the options of every receiver; or a `receiver` that was made with them. */
export interface WebhookPluginOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /**
   * What `createReceiver(handlers, options)` of core has returned, in place of `handlers` or `inbox` and all options of receivers: for
   * `readinessHandler({ receiver })`. Default: the plugin makes one.
   */
  receiver?: Receiver;
  /** Handles events inline. Either this or `inbox`. */
  handlers?: NoInfer<Handlers<Data, Tx>>;
  /** Stores events, for workers. Either this or `handlers`. */
  inbox?: Pick<InboxWriter, "put">;
  /** Gets the log lines, which have the shape of pino's. Default: `app.log`. */
  logger?: Logger;
  /** The endpoint's path below the plugin's prefix. With `endpoints`, all below it is the plugin's. Default `"/webhooks"`. */
  path?: string;
}

const ownOptions = ["handlers", "inbox", "path"];

/** Fastify's own options, which it also passes to the plugin. */
interface RegisterOptions {
  prefix?: string;
  logLevel?: unknown;
  logSerializers?: unknown;
}

/** A Fastify plugin. Where it is registered, the catalog types its handlers, and the store their `context.tx`. */
export type WebhookPlugin = (app: FastifyInstance, options: WebhookPluginOptions) => Promise<void>;

declare module "fastify" {
  // Fastify infers options from the plugin alone, so it needs an overload to infer the handlers from the catalog next to them
  interface FastifyRegister<
    T = void,
    RawServer extends RawServerBase = RawServerDefault,
    TypeProviderDefault extends FastifyTypeProvider = FastifyTypeProvider,
    LoggerDefault extends FastifyBaseLogger = FastifyBaseLogger,
  > {
    // biome-ignore lint/style/useShorthandFunctionType: only an interface adds to Fastify's own
    <Data = EsimEvents, Tx = unknown>(
      plugin: WebhookPlugin,
      options: WebhookPluginOptions<Data, Tx> & RegisterOptions,
    ): T;
  }
}

async function plugin(app: FastifyInstance, options: WebhookPluginOptions): Promise<void> {
  const { handlers: _handlers, inbox: _inbox, receiver: own, path = "/webhooks", ...others } = options;
  const {
    prefix: _prefix,
    logLevel: _level,
    logSerializers: _serializers,
    ...rest
  } = others as RegisterOptions;
  if (!path.startsWith("/")) {
    throw new WebhookError(
      "invalid_option",
      "The path of webhookPlugin does not begin with a slash.",
      'Pass a path such as "/webhooks".',
    );
  }
  const logger = options.logger ?? logOf(app);
  const receiver =
    own === undefined
      ? createReceiver(targetOf(options), { ...rest, ...(logger && { logger }) }, ownOptions)
      : checkedReceiver(own, options);

  const mount = `${app.prefix}${path}`;
  // answers before Fastify reads the body, so that no content-type parser runs
  const route: Pick<RouteOptions, "onRequest" | "handler"> = {
    onRequest(request, reply) {
      receiveRequest(receiver, request.raw, pathBelow(mount, request.raw.url))
        .then(({ status, headers, body }) => {
          discardRest(request.raw, receiver.closing);
          reply.code(status).headers(headers).send(body);
        })
        .catch((error) => reply.send(error));
    },
    handler: async () => {},
  };
  const urls = receiver.hasEndpoints
    ? [...spellingsOf(path, app), `${path.replace(/\/$/, "")}/*`]
    : spellingsOf(path, app);
  for (const url of urls) {
    // the host may have routes of its own for other methods: it keeps them, and the rest is answered 405
    const free = app.supportedMethods.filter(
      (method) => !app.hasRoute({ method, url: `${app.prefix}${url}` }),
    );
    app.route({ ...route, method: ["POST", ...free.filter((method) => method !== "POST")], url });
  }
  const watchMiss = watchMisses(logger);
  const ownUrls = new Set(urls.map((url) => `${app.prefix}${url}`));
  app.server.on("request", (request, response) => {
    if (!ownUrls.has(request.url ?? "")) watchMiss(request, response, mount);
  });
  app.addHook("preClose", () => receiver.close());
}

/**
 * Mounts a receiver: `await app.register(webhookPlugin, { handlers })`. The app's hooks run before it: a hook that
 * answers 401 loses events, so keep your own authentication away from it. Logs to `logger`, default `app.log`.
 * Other methods than POST are answered 405, unless the app had a route for them before. A signed delivery to another path
 * that is answered 404 is a warning, once.
 * With `endpoints`, a request to `/webhooks/acme` is looked up as `/acme`.
 * On `app.close()`, deliveries in flight finish and later ones get 503.
 * Registering rejects with the errors of `createReceiver` when the set-up is wrong.
 */
export const webhookPlugin: WebhookPlugin = fastifyPlugin(plugin as never, {
  name: "@esim-webhooks/fastify",
  fastify: "5.x",
  encapsulate: true,
});

/** The app's log. Undefined for that of an app without a logger, whose functions all do nothing. */
function logOf({ log }: FastifyInstance): FastifyBaseLogger | undefined {
  return log.error === log.trace ? undefined : log;
}

/** The path with and without a slash at its end, unless the app takes both for one already. */
function spellingsOf(path: string, { initialConfig }: FastifyInstance): readonly string[] {
  const { ignoreTrailingSlash, routerOptions } = initialConfig as RouterConfig;
  if (path === "/" || ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash) return [path];
  const bare = path.replace(/\/$/, "");
  return [bare, `${bare}/`];
}

/** What a URL has below a mount, whose segments may be parameters: as it was sent, since those of Fastify are decoded. */
function pathBelow(mount: string, url = ""): string {
  const segments = mount.split("/").filter((segment) => segment !== "").length;
  const [path = ""] = url.split("?", 1);
  return `/${path
    .split("/")
    .slice(segments + 1)
    .join("/")}`;
}

/** Fastify 5 has moved the option. */
interface RouterConfig {
  readonly ignoreTrailingSlash?: boolean;
  readonly routerOptions?: { readonly ignoreTrailingSlash?: boolean };
}

function targetOf({ handlers, inbox }: WebhookPluginOptions): Target {
  if (handlers !== undefined && inbox === undefined) return checkedHandlers(handlers);
  if (inbox !== undefined && handlers === undefined) return checkedInbox(inbox);
  throw new WebhookError(
    "invalid_option",
    `webhookPlugin was given ${inbox === undefined ? "neither handlers nor an inbox" : "both handlers and an inbox"}.`,
    "Wrap one of them: app.register(webhookPlugin, { handlers }) handles events inline, { inbox } stores them.",
  );
}

const besideReceiver = new Set(["receiver", "path", "logger", "prefix", "logLevel", "logSerializers"]);

/** The receiver that was passed. Its own options are set where it is made. */
function checkedReceiver(receiver: Receiver, options: WebhookPluginOptions): Receiver {
  const others = Object.entries(options).filter(
    ([name, value]) => value !== undefined && !besideReceiver.has(name),
  );
  if (typeof receiver.receive === "function" && others.length === 0) return receiver;
  throw new WebhookError(
    "invalid_option",
    others.length === 0
      ? 'webhookPlugin: "receiver" has no receive(), so it is not a receiver.'
      : `webhookPlugin was given a receiver and also ${others.map(([name]) => `"${name}"`).join(", ")}.`,
    "Pass { receiver: createReceiver(handlers, options) }, with all options of the receiver in that call.",
  );
}

function checkedHandlers<Given extends object>(handlers: Given): Given {
  if (!isInbox(handlers)) return handlers;
  throw new WebhookError(
    "invalid_option",
    'webhookPlugin: "handlers" is an inbox.',
    "Pass it as { inbox }, and the handlers to its worker: createWorker(inbox, handlers).",
  );
}

function checkedInbox<Given extends object>(inbox: Given): Given {
  if (isInbox(inbox) || inbox instanceof Promise) return inbox; // createReceiver refuses a promise
  throw new WebhookError(
    "invalid_option",
    'webhookPlugin: "inbox" has no put(), so it is not an inbox.',
    "Pass { inbox } such as sqliteInbox(…) or postgresInbox(…), or { handlers }.",
  );
}
