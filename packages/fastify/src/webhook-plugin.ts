import {
  createReceiver,
  discardRest,
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  nodeDelivery,
  type ReceiverOptions,
  type Target,
  WebhookError,
} from "@esim-webhooks/core";
import type { FastifyInstance } from "fastify";
import fastifyPlugin from "fastify-plugin";

/** `handlers` or an `inbox`, and the options of every receiver. */
export interface WebhookPluginOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /** Works events inline. Either this or `inbox`. */
  handlers?: NoInfer<Handlers<Data, Tx>>;
  /** Stores events, to be worked later. Either this or `handlers`. */
  inbox?: Pick<InboxWriter, "put">;
  /** Where the endpoint is, below the plugin's prefix. Default `"/webhooks"`. */
  path?: string;
}

/** Fastify's own options, which it hands to the plugin too. */
interface RegisterOptions {
  prefix?: string;
  logLevel?: unknown;
  logSerializers?: unknown;
}

/**
 * A Fastify plugin. `webhookPlugin<DataOf<typeof catalog>>` types the handlers of a catalog of your own, and
 * `webhookPlugin<EsimEvents, Transaction<Database>>` their `context.tx`.
 */
export interface WebhookPlugin {
  <Data = EsimEvents, Tx = unknown>(
    app: FastifyInstance,
    options: WebhookPluginOptions<Data, Tx>,
  ): Promise<void>;
  // the one that Fastify's register() infers from
  (app: FastifyInstance, options: WebhookPluginOptions): Promise<void>;
}

async function plugin(app: FastifyInstance, options: WebhookPluginOptions): Promise<void> {
  const { handlers: _handlers, inbox: _inbox, path = "/webhooks", ...others } = options;
  const {
    prefix: _prefix,
    logLevel: _level,
    logSerializers: _serializers,
    ...rest
  } = others as RegisterOptions;
  if (!path.startsWith("/")) {
    throw new WebhookError(
      "invalid_option",
      "The path does not begin with a slash.",
      'Pass one such as "/webhooks".',
    );
  }
  const receiver = createReceiver(targetOf(options), { ...rest, logger: options.logger ?? app.log });

  // answered before Fastify looks at the body, so that no content-type parser, ours or the host's, is involved
  app.all(path, {
    onRequest: async (request, reply) => {
      const { status, headers, body } = await receiver.receive(nodeDelivery(request.raw));
      discardRest(request.raw);
      return reply.code(status).headers(headers).send(body);
    },
    handler: async () => {},
  });
  app.addHook("preClose", () => receiver.close());
}

/**
 * Mounts a receiver: `await app.register(webhookPlugin, { handlers })`. Hooks of the host run before it: one that
 * answers 401 costs events, so keep authentication of your own away from it. Logs to `app.log` unless told otherwise;
 * on `app.close()` deliveries in flight finish, and later ones are answered 503.
 * Registering rejects as `createReceiver` throws when the set-up is wrong.
 */
export const webhookPlugin: WebhookPlugin = fastifyPlugin(plugin as never, {
  name: "@esim-webhooks/fastify",
  fastify: "5.x",
  encapsulate: true,
});

function targetOf({ handlers, inbox }: WebhookPluginOptions): Target {
  if (handlers !== undefined && inbox === undefined) return handlers;
  if (inbox !== undefined && handlers === undefined) return inbox;
  throw new WebhookError(
    "invalid_option",
    `webhookPlugin was given ${inbox === undefined ? "neither handlers nor an inbox" : "both handlers and an inbox"}.`,
    "Pass { handlers } to work events inline, or { inbox } to store them.",
  );
}
