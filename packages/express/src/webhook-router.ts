import type { ServerResponse } from "node:http";
import {
  createReceiver,
  type EsimEvents,
  type NodeRequest,
  nodeDelivery,
  type ReceiverOptions,
  type Target,
  WebhookError,
  writeReply,
} from "@esim-webhooks/core";

export interface WebhookRouterOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /** Where the endpoint is, below where the router is mounted, without patterns. Default `"/webhooks"`. */
  path?: string;
}

/** The part of Express' request that is used, the same in versions 4 and 5. */
export type ExpressRequest = NodeRequest & { readonly path: string; readonly baseUrl: string };

/** Express middleware that takes deliveries on its path and touches no other. */
export interface WebhookRouter {
  (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void): void;
  /** From now on answers 503; resolves when everything accepted has ended. */
  close(): Promise<void>;
}

/**
 * Mounts a receiver: `app.use(webhookRouter({ "esim.faulted": fn }))`, before any body parser. Its path is
 * looked for below where it is mounted; `app.use("/webhooks", webhookRouter(handlers))` is the same endpoint.
 * Throws `missing_secret`, `invalid_secret`, `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function webhookRouter<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: WebhookRouterOptions<Data, Tx> = {},
): WebhookRouter {
  const { path = "/webhooks", ...rest } = options;
  if (typeof path !== "string" || !/^\/[\w\-./~%@]*$/.test(path)) {
    throw new WebhookError(
      "invalid_option",
      "The path is not a plain one.",
      'Start it with "/" and leave patterns out, such as "/webhooks"; mount the router under a pattern instead.',
    );
  }
  const receiver = createReceiver<Data, Tx>(target, rest);
  const endpoint = normalise(path);
  // mounted at its own path, as in app.use("/webhooks", webhookRouter(handlers)), it is found there too
  const isEndpoint = ({ path: below, baseUrl }: ExpressRequest) =>
    normalise(below) === endpoint || (below === "/" && normalise(baseUrl).endsWith(endpoint));
  const route: (...args: Parameters<WebhookRouter>) => void = (request, response, next) => {
    if (!isEndpoint(request)) return next();
    receiver
      .receive(nodeDelivery(request))
      .then((reply) => writeReply(response, reply))
      .catch(next);
  };
  return Object.assign(route, { close: receiver.close });
}

/** Case and a trailing slash do not count, as in Express' own routes. */
function normalise(path: string): string {
  return path.toLowerCase().replace(/(?<=.)\/$/, "");
}
