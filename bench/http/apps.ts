// Every server of the http bench. Its test shows that each accepts authentic deliveries and refuses forged ones.
import { createHmac } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { redisStore } from "@esim-webhooks/store-redis";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import express, { type Express, type RequestHandler } from "express";
import fastify, { type FastifyInstance } from "fastify";
import createGithubHandler from "github-webhook-handler";
import { expressByHand, fastifyByHand } from "./by-hand.ts";
import { githubWebhook, type MakeDelivery, standardWebhook } from "./deliveries.ts";
import { mapOfIds, redisIds } from "./ids.ts";

export interface AppSettings {
  readonly secrets: readonly [string, ...string[]];
  /** Of the Redis that some apps remember ids in. */
  readonly redisUrl: string;
  /** Called for each event that is handled. */
  readonly handle: () => void;
}

export interface RunningApp {
  readonly port: number;
  close(): Promise<void>;
}

interface App {
  /** The scheme that it verifies. The bare routes verify none. */
  readonly delivery: MakeDelivery;
  start(settings: AppSettings): Promise<RunningApp>;
}

const path = "/webhooks";

/** A route that only reads the body and answers 200. */
function bareExpress(): Express {
  const answer: RequestHandler = (_request, response) => void response.json({ outcome: "processed" });
  return express().post(path, express.raw({ type: "*/*", limit: "2mb" }), answer);
}

function bareFastify(): FastifyInstance {
  const app = fastify({ bodyLimit: 2 * 1024 * 1024 });
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, (_request, body, done) =>
    done(null, body),
  );
  app.post(path, async (_request, reply) =>
    reply.header("content-type", "application/json").send('{"outcome":"processed"}'),
  );
  return app;
}

/** What every middleware of Express that verifies must do: take the body, hash it, parse it and answer. It checks nothing. */
function bareMiddleware(secret: string): Express {
  return express().use(path, async (request: IncomingMessage, response: ServerResponse) => {
    await undefined; // a body that came with its headers is there then
    const body: Buffer | null = request.read();
    if (body === null) throw new Error("the body did not come with its headers");
    createHmac("sha256", secret).update(body).digest();
    JSON.parse(body.toString());
    request.resume();
    response.writeHead(200, { "content-type": "application/json" }).end('{"outcome":"processed"}');
  });
}

const memory = () => memoryStore({ maxEntries: 1_000_000 });
const secret = ({ secrets }: AppSettings) => secrets.join(" ");

export const apps = {
  "fastify bare": {
    delivery: standardWebhook,
    start: () => runFastify(bareFastify()),
  },
  "fastify ours": {
    delivery: standardWebhook,
    start: async (settings) => {
      const app = fastify();
      const handlers = { "*": settings.handle };
      await app.register(webhookPlugin, { handlers, secret: secret(settings), store: memory() });
      return runFastify(app);
    },
  },
  "fastify by hand": {
    delivery: standardWebhook,
    start: ({ secrets, handle }) =>
      runFastify(fastifyByHand({ secret: secrets[0], ids: mapOfIds(), handle })),
  },
  "fastify ours, Redis": {
    delivery: standardWebhook,
    start: async (settings) => {
      const store = redisStore(settings.redisUrl);
      const app = fastify();
      const handlers = { "*": settings.handle };
      await app.register(webhookPlugin, { handlers, secret: secret(settings), store });
      return runFastify(app, () => store.close());
    },
  },
  "fastify by hand, Redis": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const ids = redisIds(redisUrl);
      return runFastify(fastifyByHand({ secret: secrets[0], ids, handle }), ids.close);
    },
  },
  "express bare": {
    delivery: standardWebhook,
    start: () => runExpress(bareExpress()),
  },
  "express middleware, bare": {
    delivery: githubWebhook,
    start: ({ secrets }) => runExpress(bareMiddleware(secrets[0])),
  },
  "express ours": {
    delivery: standardWebhook,
    start: (settings) => {
      const options = { secret: secret(settings), store: memory() };
      return runExpress(express().use(webhookRouter({ "*": settings.handle }, options)));
    },
  },
  "express by hand": {
    delivery: standardWebhook,
    start: ({ secrets, handle }) =>
      runExpress(expressByHand({ secret: secrets[0], ids: mapOfIds(), handle })),
  },
  "express ours, Redis": {
    delivery: standardWebhook,
    start: (settings) => {
      const store = redisStore(settings.redisUrl);
      const options = { secret: secret(settings), store };
      return runExpress(express().use(webhookRouter({ "*": settings.handle }, options)), () => store.close());
    },
  },
  "express by hand, Redis": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const ids = redisIds(redisUrl);
      return runExpress(expressByHand({ secret: secrets[0], ids, handle }), ids.close);
    },
  },
  "express octokit": {
    delivery: githubWebhook,
    start: ({ secrets, handle }) => {
      const webhooks = new Webhooks({ secret: secrets[0] });
      webhooks.on("push", handle);
      return runExpress(express().use(createNodeMiddleware(webhooks, { path, log: silent })));
    },
  },
  "express github-webhook-handler": {
    delivery: githubWebhook,
    start: ({ secrets, handle }) => {
      const handler = createGithubHandler({ path, secret: secrets[0] });
      handler.on("push", handle).on("error", () => {});
      // it has answered when it calls back with an error
      const middleware: RequestHandler = (request, response, next) =>
        handler(request, response, (error) => error ?? next());
      return runExpress(express().use(middleware));
    },
  },
} satisfies Readonly<Record<string, App>>;

export type AppName = keyof typeof apps;

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

async function runFastify(app: FastifyInstance, alsoClose: () => unknown = () => {}): Promise<RunningApp> {
  await app.listen({ host: "127.0.0.1", port: 0 });
  return {
    port: (app.server.address() as AddressInfo).port,
    async close() {
      await app.close();
      await alsoClose();
    },
  };
}

async function runExpress(app: Express, alsoClose: () => unknown = () => {}): Promise<RunningApp> {
  const server = app.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
      await alsoClose();
    },
  };
}
