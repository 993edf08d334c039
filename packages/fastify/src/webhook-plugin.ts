import type { EsimEvents } from "@esim-webhooks/core";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawServerBase,
  RawServerDefault,
} from "fastify";
import fastifyPlugin from "fastify-plugin";
import { invalid, receiverOf, type WebhookPluginOptions } from "./plugin-options.ts";
import { addWebhookRoute } from "./webhook-route.ts";

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
  const { path = "/webhooks", logger = logOf(app) } = options;
  if (!path.startsWith("/"))
    throw invalid("the path does not begin with a slash.", 'Pass a path such as "/webhooks".');
  const receiver = receiverOf(logger ? { ...options, logger } : options);
  addWebhookRoute(app, receiver, path, logger);
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
