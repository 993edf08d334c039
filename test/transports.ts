import type { Middleware, StartServer } from "@esim-webhooks/conformance";
import {
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  type ReceiverOptions,
  type Target,
  webhookHandler,
} from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { type WebhookPluginOptions, webhookPlugin } from "@esim-webhooks/fastify";
import { getRequestListener } from "@hono/node-server";
import express, { type RequestHandler } from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import { behindBareRequest, onNode } from "../packages/core/test/receive/transports.ts";
import { onNest, platforms } from "../packages/nest/test/nest-app.ts";
import { listen } from "./listen.ts";

/** Every adapter, in a server on a free port of the loopback interface. */
export const transports = {
  "Express 5": onExpress(express),
  "Express 4": onExpress(express4 as unknown as typeof express),
  Fastify: onFastify,
  "Nest on Express": onNest(platforms[0]),
  "Nest on Fastify": onNest(platforms[1]),
  "webhookHandler behind Hono": behindHono,
  nodeHandler: onNode,
  "webhookHandler behind a bare Request": behindBareRequest,
} as const satisfies Record<string, StartServer>;

export type Transport = keyof typeof transports;

function onExpress(createApp: typeof express): StartServer {
  return (target, options, before) => {
    const router = webhookRouter(target, options);
    const middleware: RequestHandler = (_request, _response, next) => void before().then(() => next());
    return listen(createApp().use(middleware).use(router), "/webhooks", router.close);
  };
}

async function onFastify(
  target: Target,
  options: ReceiverOptions,
  before: Middleware,
): ReturnType<StartServer> {
  // or Fastify itself would answer 503 while closing
  const app = fastify({ return503OnClosing: false });
  app.addHook("onRequest", before);
  await app.register(webhookPlugin, { ...fastifyTarget(target), ...options });
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  const close = async () => {
    await app.close();
  };
  return { url: `${address}/webhooks`, shutDown: close, close };
}

function fastifyTarget(target: Target): Pick<WebhookPluginOptions, "handlers" | "inbox"> {
  return "put" in target
    ? { inbox: target as Pick<InboxWriter, "put"> }
    : { handlers: target as Handlers<EsimEvents> };
}

function behindHono(target: Target, options: ReceiverOptions, before: Middleware): ReturnType<StartServer> {
  const handler = webhookHandler(target, options);
  const app = new Hono()
    .use(async (_context, next) => {
      await before();
      await next();
    })
    .all("/webhooks/*", (context) => handler(context.req.raw));
  return listen(getRequestListener(app.fetch), "/webhooks", handler.close);
}
