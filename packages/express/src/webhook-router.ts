import type { ServerResponse } from "node:http";
import {
  createReceiver,
  type EsimEvents,
  type NodeRequest,
  type ReceiverOptions,
  type Target,
  WebhookError,
} from "@esim-webhooks/core";
import { checkPlainPath, createRoute, type MountedPath } from "@esim-webhooks/core/engine";

/** Options of `webhookRouter`. */
export interface WebhookRouterOptions<Data = EsimEvents, Tx = unknown> extends ReceiverOptions<Data, Tx> {
  /**
   * The endpoint's path below the mount path, without patterns. With `endpoints`, the router answers all requests below it.
   * Default `"/webhooks"`.
   */
  path?: string;
}

/** The part of Express' request that the router uses; the same in versions 4 and 5. */
export type ExpressRequest = NodeRequest & MountedPath;

/** Express middleware that accepts deliveries on its path, and passes on all other requests. */
export interface WebhookRouter {
  (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void): void;
  /** Resolves while it can decide about deliveries, for `readinessHandler`. Rejects like `receiver.ready`. */
  ready(): Promise<void>;
  /** Answers 503 from now on. Resolves when all accepted deliveries have ended, late handlers included. */
  close(): Promise<void>;
}

/**
 * Mounts a receiver: `app.use(webhookRouter({ "esim.faulted": fn }))`, before any body parser. `path` is relative to
 * the mount path; `app.use("/webhooks", webhookRouter(handlers))` is the same endpoint. With `endpoints`, a request to
 * `/webhooks/acme` is looked up as `/acme`. Logs a warning, once, if a signed delivery that it passes on is answered 404.
 * Throws `missing_secret`, `invalid_secret`, `unknown_event_type` or `invalid_option` when the set-up is wrong.
 */
export function webhookRouter<Data = EsimEvents, Tx = unknown>(
  target: Target<Data, Tx>,
  options: WebhookRouterOptions<Data, Tx> = {},
): WebhookRouter {
  const { path = "/webhooks" } = options ?? {}; // createReceiver refuses null
  checkPlainPath("webhookRouter", path, "mount the router under the pattern");
  const receiver = createReceiver<Data, Tx>(target, options, ["path"]);
  const serve = createRoute(receiver, path, options.logger);
  const route: (...args: Parameters<WebhookRouter>) => void = (request, response, next) => {
    if (typeof request.path !== "string") return next(notExpress());
    serve(request, response, next, request);
  };
  return Object.assign(route, { ready: receiver.ready, close: receiver.close });
}

function notExpress(): WebhookError {
  return new WebhookError(
    "invalid_option",
    "webhookRouter is for Express.",
    "On Fastify, register webhookPlugin.",
  );
}
