// Every server of the http bench. Its test shows that each accepts authentic deliveries and refuses forged ones.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { redisStore } from "@esim-webhooks/store-redis";
import { createNodeMiddleware, Webhooks } from "@octokit/webhooks";
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from "express";
import fastify, { type FastifyInstance } from "fastify";
import createGithubHandler from "github-webhook-handler";
import type { Packages } from "../../test/upgrade/packages.ts";
import { githubWebhook, type MakeDelivery, standardWebhook } from "./deliveries.ts";
import { expressByHand, fastifyByHand } from "./hand-written.ts";
import { claimMs, mapOfIds, redisIds } from "./ids.ts";
import { leastFastify, leastMiddleware } from "./least.ts";

export interface AppSettings {
  readonly secrets: readonly [string, ...string[]];
  /** The URL of the Redis in which some apps remember ids. */
  readonly redisUrl: string;
  /** Called for each event that is handled. */
  readonly handle: () => void;
  /** Ours, of this version or of another one. */
  readonly packages: Packages;
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
  // Express itself would write the stack of each body that cannot be inflated to standard error
  const onError: ErrorRequestHandler = (error, _request, response, _next) =>
    void response.status(error.status ?? 500).json({ error: "failed" });
  return express()
    .post(path, express.raw({ type: "*/*", limit: "2mb" }), answer)
    .use(onError);
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

const memory = ({ packages }: AppSettings) => packages.memoryStore({ maxEntries: 1_000_000 });
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
      await app.register(settings.packages.webhookPlugin, {
        handlers,
        secret: secret(settings),
        store: memory(settings),
      });
      return runFastify(app);
    },
  },
  "fastify hand-written": {
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
      await app.register(settings.packages.webhookPlugin, { handlers, secret: secret(settings), store });
      return runFastify(app, () => store.close());
    },
  },
  "fastify hand-written, Redis": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const ids = redisIds(redisUrl, "hand-written");
      return runFastify(fastifyByHand({ secret: secrets[0], ids, handle }), ids.close);
    },
  },
  "fastify least, Redis": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const ids = redisIds(redisUrl, "least");
      const work = async (id: string) => {
        if (!(await ids.claim(id))) return;
        handle();
        await ids.complete(id);
      };
      return runFastify(leastFastify(secrets[0], work), ids.close);
    },
  },
  "fastify least, redisStore": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const store = redisStore(redisUrl, { keyPrefix: "least:" });
      const work = async (id: string) => {
        const key = { source: "esim", id };
        const claim = await store.claim(key, claimMs);
        if (claim.status !== "claimed") return;
        handle();
        await store.complete(key, claim.token);
      };
      return runFastify(leastFastify(secrets[0], work), () => store.close());
    },
  },
  "express bare": {
    delivery: standardWebhook,
    start: () => runExpress(bareExpress()),
  },
  "express middleware, bare": {
    delivery: githubWebhook,
    start: ({ secrets }) => runExpress(leastMiddleware(secrets[0])),
  },
  "express ours": {
    delivery: standardWebhook,
    start: (settings) => {
      const options = { secret: secret(settings), store: memory(settings) };
      return runExpress(express().use(settings.packages.webhookRouter({ "*": settings.handle }, options)));
    },
  },
  "express hand-written": {
    delivery: standardWebhook,
    start: ({ secrets, handle }) =>
      runExpress(expressByHand({ secret: secrets[0], ids: mapOfIds(), handle })),
  },
  "express ours, Redis": {
    delivery: standardWebhook,
    start: (settings) => {
      const store = redisStore(settings.redisUrl);
      const options = { secret: secret(settings), store };
      return runExpress(
        express().use(settings.packages.webhookRouter({ "*": settings.handle }, options)),
        () => store.close(),
      );
    },
  },
  "express hand-written, Redis": {
    delivery: standardWebhook,
    start: ({ secrets, redisUrl, handle }) => {
      const ids = redisIds(redisUrl, "hand-written");
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
