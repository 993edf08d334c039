import { Readable } from "node:stream";
import { receiverSuite, type StartServer } from "@esim-webhooks/conformance";
import {
  type EsimEvents,
  type Handlers,
  type InboxWriter,
  nodeHandler,
  type ReceiverOptions,
  type Target,
  webhookHandler,
} from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { type WebhookPluginOptions, webhookPlugin } from "@esim-webhooks/fastify";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import { describe, it } from "vitest";
import { listen } from "./listen.ts";

const runner = { describe, it };

function onExpress(createApp: typeof express): StartServer {
  return (target: Target, options: ReceiverOptions) => {
    const router = webhookRouter(target, options);
    return listen(createApp().use(router), "/webhooks", router.close);
  };
}

receiverSuite("Express 5", onExpress(express), runner);
receiverSuite("Express 4", onExpress(express4 as unknown as typeof express), runner);

receiverSuite(
  "Fastify",
  async (target, options) => {
    // or Fastify itself would answer 503 while closing
    const app = fastify({ return503OnClosing: false });
    await app.register(webhookPlugin, { ...fastifyTarget(target), ...options });
    const address = await app.listen({ host: "127.0.0.1", port: 0 });
    const close = async () => {
      await app.close();
    };
    return { url: `${address}/webhooks`, shutDown: close, close };
  },
  runner,
);

function fastifyTarget(target: Target): Pick<WebhookPluginOptions, "handlers" | "inbox"> {
  return "put" in target
    ? { inbox: target as Pick<InboxWriter, "put"> }
    : { handlers: target as Handlers<EsimEvents> };
}

receiverSuite(
  "webhookHandler behind Hono",
  (target, options) => {
    const handler = webhookHandler(target, options);
    const app = new Hono().all("/webhooks", (context) => handler(context.req.raw));
    return listen(getRequestListener(app.fetch), "/webhooks", handler.close);
  },
  runner,
);

receiverSuite(
  "nodeHandler",
  (target, options) => {
    const handler = nodeHandler(target, options);
    return listen(handler, "/", handler.close);
  },
  runner,
);

receiverSuite(
  "webhookHandler behind a bare Request",
  (target, options) => {
    const handler = webhookHandler(target, options);
    return listen(
      async (incoming, outgoing) => {
        const hasBody = incoming.method !== "GET" && incoming.method !== "HEAD";
        const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
          method: incoming.method ?? "",
          headers: new Headers(incoming.headers as Record<string, string>),
          ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream, duplex: "half" }),
        } as RequestInit);
        const response = await handler(request);
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(Buffer.from(await response.arrayBuffer()));
      },
      "/",
      handler.close,
    );
  },
  runner,
);
