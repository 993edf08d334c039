import { createServer } from "node:http";
import {
  createReceiver,
  type KeySource,
  memoryStore,
  nodeHandler,
  webhookHandler,
} from "@esim-webhooks/core";
import { readinessHandler } from "@esim-webhooks/core/health";
import { newSecret } from "@esim-webhooks/core/testing";
import { webhookRouter } from "@esim-webhooks/express";
import { webhookPlugin } from "@esim-webhooks/fastify";
import express from "express";
import fastify from "fastify";
import { describe, expect, it } from "vitest";
import { listen } from "./listen.ts";
import { signedDelivery } from "./support/signed-delivery.ts";

const secret = newSecret();
const handlers = { "*": () => {} };

/** A receiver with its probe at /readyz, on a server of its own. */
interface Mounted {
  /** Answers a request for the path. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** Closes the receiver; the server goes on. */
  closeReceiver(): Promise<void>;
  close(): Promise<unknown>;
}

type Options = { readonly secret: KeySource; readonly store: ReturnType<typeof memoryStore> };

const mounts: Readonly<Record<string, (options: Options) => Promise<Mounted>>> = {
  async "Express, by webhookRouter"(options) {
    const receiver = webhookRouter(handlers, options);
    const ready = readinessHandler({ receiver });
    const app = express();
    app.use(receiver);
    app.get("/readyz", ready.node);
    const server = await listen(app, "", async () => {});
    return {
      request: (path, init) => fetch(`${server.url}${path}`, init),
      closeReceiver: receiver.close,
      close: server.close,
    };
  },
  async "Fastify, by a receiver that webhookPlugin is given"(options) {
    const receiver = createReceiver(handlers, options);
    const ready = readinessHandler({ receiver });
    const app = fastify();
    await app.register(webhookPlugin, { receiver });
    app.get("/readyz", (request, reply) => ready.node(request.raw, reply.raw));
    const url = await app.listen({ host: "127.0.0.1", port: 0 });
    return {
      request: (path, init) => fetch(`${url}${path}`, init),
      closeReceiver: receiver.close,
      close: () => app.close(),
    };
  },
  async "plain Node.js, by nodeHandler"(options) {
    const receiver = nodeHandler(handlers, options);
    const ready = readinessHandler({ receiver });
    const server = await listen(
      createServer((request, response) => {
        if (request.url === "/readyz") void ready.node(request, response);
        else receiver(request, response);
      }),
      "",
      async () => {},
    );
    return {
      request: (path, init) => fetch(`${server.url}${path}`, init),
      closeReceiver: receiver.close,
      close: server.close,
    };
  },
  async "fetch, by webhookHandler"(options) {
    const receiver = webhookHandler(handlers, options);
    const ready = readinessHandler({ receiver });
    return {
      request: async (path, init) => {
        const request = new Request(`http://localhost${path}`, init);
        return path === "/readyz" ? ready(request) : receiver(request);
      },
      closeReceiver: receiver.close,
      close: async () => {},
    };
  },
};

describe.each(Object.entries(mounts))("the readiness probe of %s", (_, mount) => {
  it("answers 503 until the keys are loaded, 200 then, and 503 once the receiver is closed", async () => {
    const keys = Promise.withResolvers<readonly string[]>();
    const mounted = await mount({ secret: { load: () => keys.promise }, store: memoryStore() });
    const probe = async () => {
      const response = await mounted.request("/readyz");
      const { checks } = (await response.json()) as { checks: unknown };
      return [response.status, checks];
    };
    try {
      expect(await probe()).toEqual([503, [{ name: "receiver", ok: false, code: "keys_unavailable" }]]);
      keys.resolve([secret]);
      expect(await probe()).toEqual([200, [{ name: "receiver", ok: true }]]);
      const { method, headers, body } = signedDelivery(secret);
      const answer = await mounted.request("/webhooks", { method, headers, body });
      expect([answer.status, await answer.json()]).toEqual([200, { outcome: "processed" }]);
      await mounted.closeReceiver();
      expect(await probe()).toEqual([503, [{ name: "receiver", ok: false, code: "shutting_down" }]]);
    } finally {
      await mounted.close();
    }
  });
});

it("webhookPlugin refuses a receiver together with options that belong to it, and what is not a receiver", async () => {
  const receiver = createReceiver(handlers, { secret, store: memoryStore() });
  for (const [options, message] of [
    [{ receiver, handlers }, 'webhookPlugin: there is a receiver and also "handlers".'],
    [{ receiver, secret, source: "eu" }, 'webhookPlugin: there is a receiver and also "secret", "source".'],
    [{ receiver: {} as never }, "webhookPlugin: the receiver has no receive(), so it is not a receiver."],
  ] as const) {
    const error = await Promise.resolve(fastify().register(webhookPlugin, options)).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining(message) });
  }
});
