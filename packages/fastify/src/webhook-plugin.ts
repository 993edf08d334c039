import { discardRest, type EsimEvents, receiveRequest, watchMisses } from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import { targetPath } from "@esim-webhooks/core/internal";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
  RouteOptions,
} from "fastify";
import fastifyPlugin from "fastify-plugin";
import { invalidPluginOption, receiverOf, type WebhookPluginOptions } from "./plugin-options.ts";

/** Fastify's own options, which it also passes to the plugin. */
interface RegisterOptions {
  prefix?: string;
  logLevel?: unknown;
  logSerializers?: unknown;
}

/** A Fastify plugin. Where it is registered, the catalog types its handlers, and the store their `context.tx`. */
export type WebhookPlugin = (app: FastifyInstance, options: WebhookPluginOptions) => Promise<void>;

declare module "fastify" {
  // Fastify infers the options only from the plugin: this overload infers the handlers from the catalog next to them
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
  const { path = "/webhooks", logger = logOf(app), deadlineMs = 25_000 } = options;
  if (!path.startsWith("/"))
    throw invalidPluginOption("the path does not begin with a slash.", 'Pass a path such as "/webhooks".');
  const receiver = receiverOf(logger ? { ...options, logger } : options);
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
  const below = receiver.hasEndpoints ? [`${path.replace(/\/$/, "")}/*`] : [];
  const urls = [...spellingsOf(path, app), ...below];
  for (const url of urls) {
    // the app keeps its own routes for other methods; all methods without one are answered 405
    const isFree = (method: string) => !app.hasRoute({ method, url: `${app.prefix}${url}` });
    const others = app.supportedMethods.filter((method) => method !== "POST" && isFree(method));
    app.route({ ...route, method: ["POST", ...others], url });
  }
  const watchMiss = watchMisses(logger);
  const ownUrls = new Set(urls.map((url) => `${app.prefix}${url}`));
  app.server.on("request", (request, response) => {
    if (!ownUrls.has(request.url ?? "")) watchMiss(request, response, mount);
  });
  // waits for at most `deadlineMs`: by then, a receiver with this deadline has answered each sender, even if a handler never ends
  app.addHook("preClose", async () => void (await createDeadline(deadlineMs).before(receiver.close())));
}

/**
 * Mounts a receiver: `await app.register(webhookPlugin, { handlers })`. The app's hooks run before it: a hook that
 * answers 401 loses events, so keep your own authentication away from it. Logs to `logger`, default `app.log`.
 * Other methods than POST are answered 405, unless the app had a route for them before. Logs a warning, once, if a signed delivery
 * to another path is answered 404.
 * With `endpoints`, a request to `/webhooks/acme` is looked up as `/acme`.
 * On `app.close()`, deliveries in flight finish and later ones get 503.
 * Registering rejects with the errors of `createReceiver` when the set-up is wrong.
 */
export const webhookPlugin: WebhookPlugin = fastifyPlugin(plugin as never, {
  name: "@esim-webhooks/fastify",
  fastify: "5.x",
  encapsulate: true,
});

/** The app's log. Undefined for an app without a logger: all functions of its log do nothing. */
function logOf({ log }: FastifyInstance): FastifyBaseLogger | undefined {
  return log.error === log.trace ? undefined : log;
}

/** Both places of the option: later versions of Fastify 5 have it in `routerOptions`, and still accept it at the top. */
interface RouterConfig {
  readonly ignoreTrailingSlash?: boolean;
  readonly routerOptions?: { readonly ignoreTrailingSlash?: boolean };
}

/** The path with and without a slash at its end, unless the app treats both as one already. */
function spellingsOf(path: string, { initialConfig }: FastifyInstance): readonly string[] {
  const { ignoreTrailingSlash, routerOptions } = initialConfig as RouterConfig;
  if (path === "/" || ignoreTrailingSlash || routerOptions?.ignoreTrailingSlash) return [path];
  const bare = path.replace(/\/$/, "");
  return [bare, `${bare}/`];
}

/** Returns the path of a URL below a mount, whose segments may be parameters. The path is as it was sent: Fastify's parameters are decoded. */
function pathBelow(mount: string, url = ""): string {
  const segments = mount.split("/").filter((segment) => segment !== "").length;
  const [path = ""] = targetPath(url).split("?", 1);
  return `/${path
    .split("/")
    .slice(segments + 1)
    .join("/")}`;
}
