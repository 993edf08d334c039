import { once } from "node:events";
import { connect } from "node:net";
import { createReceiver, WebhookError } from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { newSecret, sampleData, signedRequest } from "@esim-webhooks/core/testing";
import { webhookPlugin } from "@esim-webhooks/fastify";
import formbody from "@fastify/formbody";
import fastify, { type FastifyInstance, type InjectOptions } from "fastify";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { deliver, openSession, sendUnended } from "../../../test/support/http2-client.ts";
import { loggerTo, loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";

const secret = newSecret();
const open: FastifyInstance[] = [];

function app(options = {}): FastifyInstance {
  const created = fastify(options);
  open.push(created as unknown as FastifyInstance);
  return created as unknown as FastifyInstance;
}

afterEach(async () => {
  vi.unstubAllEnvs();
  await Promise.all(open.splice(0).map((instance) => instance.close()));
});

function delivery(url = "/webhooks"): InjectOptions {
  const { method, headers, body } = signedDelivery(secret, { type: "esim.assigned" });
  return { method, url, headers, payload: body };
}

const handlers = { "*": () => {} };

describe("webhookPlugin", () => {
  it("reads the secret from ESIM_WEBHOOK_SECRET and accepts deliveries at /webhooks, also through app.inject", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", secret);
    const server = app();
    await server.register(webhookPlugin, { handlers });
    const answer = await server.inject(delivery());
    expect([answer.statusCode, answer.json()]).toEqual([200, { outcome: "processed" }]);
    expect((await server.inject({ method: "GET", url: "/webhooks" })).statusCode).toBe(405);
    expect((await server.inject({ method: "HEAD", url: "/webhooks" })).statusCode).toBe(405);
  });

  it.each([
    [{}, "/webhooks"],
    [{ path: "/in" }, "/in"],
    [{ path: "/", prefix: "/hooks" }, "/hooks"],
    [{ prefix: "/:any/v1" }, "/esim/v1/webhooks"],
  ])("with %j, looks up what is below %s, as it was sent", async (options, route) => {
    const paths: string[] = [];
    const endpoints = (path: string) => {
      paths.push(path);
      return { source: "acme", secret };
    };
    const server = app();
    server.get("/other", () => "of the app");
    await server.register(webhookPlugin, { ...options, handlers, endpoints });
    for (const path of ["/acme", "/Ac%6De/eu?x=/y", ""]) {
      expect((await server.inject(delivery(`${route}${path}`))).statusCode).toBe(200);
    }
    expect(paths).toEqual(["/acme", "/Ac%6De/eu", "/"]);
    expect((await server.inject(delivery(`${route}x`))).statusCode).toBe(404);
    expect((await server.inject({ method: "GET", url: `${route}/acme` })).statusCode).toBe(405);
    expect((await server.inject({ method: "GET", url: "/other" })).body).toBe("of the app");
  });

  it("refuses a logger that is none, also with a receiver that was made before", async () => {
    const receiver = createReceiver(handlers, { secret });
    const registered = fastify().register(webhookPlugin, { receiver, logger: {} as never });
    await expect(registered).rejects.toThrow('webhookPlugin: "logger": expected an object with debug()');
  });

  it("serves a receiver with endpoints that was made before", async () => {
    const receiver = createReceiver(handlers, { endpoints: () => ({ source: "acme", secret }) });
    const server = app();
    await server.register(webhookPlugin, { receiver });
    expect((await server.inject(delivery("/webhooks/acme"))).statusCode).toBe(200);
  });

  it("leaves a long body of app.inject to its caller, who may send it again", async () => {
    const server = app();
    await server.register(webhookPlugin, { handlers, secret });
    const data = { ...sampleData("esim.faulted"), detail: "x".repeat(20_000) };
    const { method, headers, body } = signedRequest({ type: "esim.faulted", data }, { secret });
    const payload = Buffer.from(body);
    const send = () => server.inject({ method, url: "/webhooks", headers, payload });
    expect((await send()).json()).toEqual({ outcome: "processed" });
    expect((await send()).json()).toEqual({ outcome: "duplicate" });
  });

  it("accepts deliveries below its prefix, several times in one app", async () => {
    const server = app();
    await server.register(webhookPlugin, { handlers, secret, prefix: "/eu" });
    await server.register(webhookPlugin, { handlers, secret, prefix: "/us", path: "/" });
    expect((await server.inject(delivery("/eu/webhooks"))).statusCode).toBe(200);
    expect((await server.inject(delivery("/us/"))).statusCode).toBe(200);
    expect((await server.inject(delivery("/webhooks"))).statusCode).toBe(404);
  });

  it.each([{}, { routerOptions: { ignoreTrailingSlash: true } }])(
    "takes a path with and without a slash at its end for the same: %j",
    async (options) => {
      const server = app(options);
      await server.register(webhookPlugin, { handlers, secret, prefix: "/eu" });
      await server.register(webhookPlugin, { handlers, secret, path: "/hooks/" });
      await server.register(webhookPlugin, { handlers, secret, prefix: "/us", path: "/" });
      for (const url of ["/eu/webhooks", "/eu/webhooks/", "/hooks", "/hooks/", "/us", "/us/"]) {
        expect([url, (await server.inject(delivery(url))).statusCode]).toEqual([url, 200]);
      }
    },
  );

  it("leaves other methods of its path to the routes that the app already has for them", async () => {
    const server = app();
    server.get("/webhooks", async () => "the app's own page");
    await server.register(webhookPlugin, { handlers, secret });
    expect((await server.inject({ method: "GET", url: "/webhooks" })).body).toBe("the app's own page");
    expect((await server.inject({ method: "PUT", url: "/webhooks" })).statusCode).toBe(405);
    expect((await server.inject(delivery())).statusCode).toBe(200);
  });

  it("warns once of signed deliveries that are answered 404 at the same time, and names its path", async () => {
    const errors: string[] = [];
    const logger = loggerWith({ error: (_, message) => void errors.push(message) });
    const server = app();
    await server.register(webhookPlugin, { handlers, secret, prefix: "/eu", logger });
    const url = await server.listen({ host: "127.0.0.1", port: 0 });
    const post = async (path: string, init: RequestInit) => (await fetch(url + path, init)).status;
    const signed = signedDelivery(secret, { type: "esim.assigned" });
    expect(await post("/webhooks", { method: "POST", body: "{}" })).toBe(404);
    const answers = await Promise.all(Array.from({ length: 10 }, () => post("/webhooks", signed)));
    expect(new Set(answers)).toEqual(new Set([404]));
    expect(await post("/eu/webhooks", signed)).toBe(200);
    expect(errors).toEqual([
      expect.stringContaining("answered 404: the webhook receiver waits for /eu/webhooks. Set { path } to"),
    ]);
  });

  it.each([
    ["@fastify/formbody", (server: FastifyInstance) => server.register(formbody)],
    [
      "the app's own JSON parser",
      async (server: FastifyInstance) => {
        server.removeContentTypeParser("application/json");
        server.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) =>
          done(null, { parsed: body }),
        );
      },
    ],
    [
      "a parser for everything",
      async (server: FastifyInstance) => {
        server.removeAllContentTypeParsers();
        server.addContentTypeParser("*", { parseAs: "string" }, (_, body, done) =>
          done(null, { parsed: body }),
        );
      },
    ],
  ])("works beside %s, and does not affect the app's routes and parsers", async (_, install) => {
    const server = app();
    await install(server);
    await server.register(webhookPlugin, { handlers, secret });
    server.post("/orders", async (request) => request.body);
    const before = app();
    await install(before);
    before.post("/orders", async (request) => request.body);

    expect((await server.inject(delivery())).statusCode).toBe(200);
    for (const type of [
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
      "application/xml",
    ]) {
      const order: InjectOptions = {
        method: "POST",
        url: "/orders",
        headers: { "content-type": type },
        payload: '{"a":1}',
      };
      const [withPlugin, without] = [await server.inject(order), await before.inject(order)];
      expect([withPlugin.statusCode, withPlugin.body]).toEqual([without.statusCode, without.body]);
    }
  });

  it("accepts deliveries of any content type, even one that Fastify cannot parse, or none", async () => {
    const server = app();
    await server.register(webhookPlugin, { handlers, secret });
    for (const type of ["text/plain", "application/octet-stream", "not a media type", ""]) {
      const given = delivery();
      const headers = { ...given.headers, "content-type": type };
      expect((await server.inject({ ...given, headers })).statusCode).toBe(200);
    }
  });

  it("runs after the app's hooks, none of which can consume the body", async () => {
    const seen: string[] = [];
    const server = app();
    server.addHook("onRequest", async () => void seen.push("onRequest"));
    server.addHook("preParsing", async () => void seen.push("preParsing"));
    server.addHook("preHandler", async () => void seen.push("preHandler"));
    server.addHook("onSend", async () => void seen.push("onSend"));
    server.addHook("onResponse", async () => void seen.push("onResponse"));
    await server.register(webhookPlugin, { handlers, secret });
    expect((await server.inject(delivery())).statusCode).toBe(200);
    expect(seen).toEqual(["onRequest", "onSend", "onResponse"]);
  });

  it("has its own body limit, independent of Fastify's", async () => {
    const small = app({ bodyLimit: 10 });
    await small.register(webhookPlugin, { handlers, secret });
    small.post("/orders", async () => "taken");
    expect((await small.inject(delivery())).statusCode).toBe(200);
    expect(
      (await small.inject({ method: "POST", url: "/orders", payload: { much: "too long" } })).statusCode,
    ).toBe(413);
    const large = app({ bodyLimit: 10_000_000 });
    await large.register(webhookPlugin, { handlers, secret, maxBodyBytes: 10 });
    const answer = await large.inject(delivery());
    expect([answer.statusCode, answer.json()]).toMatchObject([503, { code: "too_large" }]);
  });

  it("finishes deliveries in flight on app.close(), and answers later ones 503", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const server = app();
    await server.register(webhookPlugin, {
      secret,
      handlers: {
        "*": async () => {
          started.resolve();
          await finish.promise;
        },
      },
    });
    const url = `${await server.listen({ host: "127.0.0.1", port: 0 })}/webhooks`;
    const send = () => fetch(url, signedDelivery(secret, { type: "esim.assigned" }));
    const inFlight = send();
    await started.promise;
    const closed = server.close();
    expect((await send()).status).toBe(503);
    finish.resolve();
    expect((await inFlight).status).toBe(200);
    await closed;
  });

  it("is stopped by a runner, which closes the app after the delivery in flight and before the store", async () => {
    const started = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const log: string[] = [];
    const receiver = createReceiver(
      {
        "*": async () => {
          started.resolve();
          await finish.promise;
          log.push("handled");
        },
      },
      { secret },
    );
    const server = app();
    await server.register(webhookPlugin, { receiver });
    server.addHook("onClose", async () => void log.push("app is closed"));
    const url = `${await server.listen({ host: "127.0.0.1", port: 0 })}/webhooks`;
    const send = () => fetch(url, signedDelivery(secret, { type: "esim.assigned" }));
    const stop = new AbortController();
    const store = { close: async () => void log.push("store is closed") };
    const ended = createRunner({ receiver }).run({ signal: stop.signal, close: [server, store] });
    const inFlight = send();
    await started.promise;
    stop.abort();
    expect((await send()).status).toBe(503);
    finish.resolve();
    expect((await inFlight).status).toBe(200);
    await ended;
    expect(log).toEqual(["handled", "app is closed", "store is closed"]);
  });

  it("sends clients away while a runner that has its server drains, and closes the app after it", async () => {
    const server = app();
    const receiver = createReceiver(handlers, { secret });
    await server.register(webhookPlugin, { receiver });
    const closed = vi.fn();
    server.addHook("onClose", async () => closed());
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const stop = new AbortController();
    const ended = createRunner({ receiver, drainMs: 3_600_000 }).run({
      ...{ signal: stop.signal, server: server.server, close: [server] },
    });
    const url = `${await server.listen({ port: 0 })}/webhooks`;
    stop.abort();
    const event = { type: "esim.assigned", data: sampleData("esim.assigned") };
    const { status, headers } = await fetch(url, signedRequest(event, { secret }));
    expect([status, headers.get("connection")]).toEqual([200, "close"]);
    await vi.advanceTimersByTimeAsync(3_600_000);
    vi.useRealTimers();
    await ended;
    expect(closed).toHaveBeenCalledOnce();
  });

  it("ends app.close() although a handler never ends, once its delivery is answered", async () => {
    const server = app();
    const entered = Promise.withResolvers<void>();
    const hangs = () => {
      entered.resolve();
      return new Promise<void>(() => {});
    };
    await server.register(webhookPlugin, { handlers: { "*": hangs }, secret, deadlineMs: 50 });
    const answer = server.inject(delivery());
    await entered.promise;
    await server.close();
    expect((await answer).statusCode).toBe(503);
  });

  it("cuts off on app.close() who goes on sending after an early answer", async () => {
    const server = app();
    await server.register(webhookPlugin, { handlers, secret });
    const { port } = new URL(await server.listen({ host: "127.0.0.1", port: 0 }));
    const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
    const answered = once(socket, "data");
    socket.write("POST /webhooks HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n");
    const drip = setInterval(() => socket.write("x"), 10);
    const ended = once(socket, "close").finally(() => clearInterval(drip));
    expect(String(await answered)).toMatch(/^HTTP\/1\.1 400 /);
    await server.close();
    await ended;
  });

  it("logs to Fastify's logger unless it has a logger option", async () => {
    const lines: string[] = [];
    const server = app({ logger: { level: "info", stream: { write: (line: string) => lines.push(line) } } });
    await server.register(webhookPlugin, { handlers, secret });
    await server.inject(delivery());
    const line = lines.map((text) => JSON.parse(text)).find(({ outcome }) => outcome !== undefined);
    expect(line).toMatchObject({ outcome: "processed", type: "esim.assigned", msg: "webhook delivery" });

    const messages: string[] = [];
    const log = (_: object, message: string) => void messages.push(message);
    const logger = loggerTo(log);
    const other = app();
    await other.register(webhookPlugin, { handlers, secret, logger });
    await other.inject(delivery());
    expect(messages).toEqual(["webhook delivery"]);
  });

  it("warns of a mistake in the set-up where the app has no logger", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    try {
      vi.resetModules(); // a process is warned once, and other tests share this one
      const fresh = await import("@esim-webhooks/fastify");
      const server = app();
      await server.register(fresh.webhookPlugin, { handlers, secret });
      const data = sampleData("esim.faulted");
      const { headers, body } = signedRequest({ type: "esim.faulted", data }, { secret, fault: "stale" });
      await server.inject({ method: "POST", url: "/webhooks", headers, payload: body });
      expect(warn.mock.calls.flat()).toContainEqual(
        expect.objectContaining({ code: "timestamp_out_of_tolerance" }),
      );
    } finally {
      warn.mockRestore();
    }
  });

  it("stores into an inbox", async () => {
    const server = app();
    await server.register(webhookPlugin, { inbox: { put: async () => ["stored"] }, secret });
    expect((await server.inject(delivery())).statusCode).toBe(202);
  });

  it("closes the streams of refused requests on HTTP/2, and serves the others of their session", async () => {
    const server = app({ http2: true });
    await server.register(webhookPlugin, { handlers, secret });
    const session = openSession(Number(new URL(await server.listen({ port: 0 })).port));
    const refused = Array.from({ length: 200 }, () => sendUnended(session, "/webhooks"));
    expect(await deliver(session, "/webhooks", secret)).toBe(200);
    for (const each of await Promise.all(refused)) expect(each).toEqual({ status: 400, code: 0 });
  });
});

describe("registering webhookPlugin", () => {
  it.each([
    [
      "without handlers or an inbox",
      {},
      "invalid_option",
      /neither handlers nor an inbox\. Wrap one of them: \{ handlers \} handles events inline/,
    ],
    [
      "with both",
      { handlers, inbox: { put: async () => [] } },
      "invalid_option",
      /both handlers and an inbox/,
    ],
    [
      "with an inbox as the handlers",
      { handlers: { put: async () => [] } },
      "invalid_option",
      /an inbox was passed as the handlers\. Wrap one of them: .*\{ inbox \} stores them for createWorker/,
    ],
    [
      "with handlers as the inbox",
      { inbox: handlers },
      "invalid_option",
      /a map of handlers was passed as the inbox\. Wrap one of them: \{ handlers \} handles events inline/,
    ],
    [
      "with an inbox that is none",
      { inbox: {} },
      "invalid_option",
      /the inbox has no put\(\), so it is not an inbox\. Wrap one of them/,
    ],
    [
      "with the handlers themselves as options",
      handlers,
      "invalid_option",
      /neither handlers nor an inbox\. Wrap one of them: \{ handlers \} handles events inline/,
    ],
    [
      "with an inbox itself as options",
      { put: async () => [] },
      "invalid_option",
      /neither handlers nor an inbox\. Wrap one of them: .*\{ inbox \}/,
    ],
    [
      "with a promise of handlers",
      { handlers: Promise.resolve(handlers) },
      "invalid_option",
      /a promise .* Await it\./,
    ],
    [
      "with a promise of an inbox",
      { inbox: Promise.resolve({}) },
      "invalid_option",
      /a promise .* Await it\./,
    ],
    [
      "with a misspelt path",
      { handlers, pth: "/hooks" },
      "invalid_option",
      /there is no option "pth"\. Did you mean "path"\?/,
    ],
    [
      "with a misspelt type",
      { handlers: { "esim.fautled": () => {} } },
      "unknown_event_type",
      /Did you mean "esim.faulted"/,
    ],
    ["with a misspelt option", { handlers, deadlineMS: 1 }, "invalid_option", /Did you mean "deadlineMs"/],
    [
      "with a path without a slash",
      { handlers, path: "hooks" },
      "invalid_option",
      /Pass a path such as "\/webhooks"/,
    ],
    ["without a secret", { handlers, secret: "" }, "missing_secret", /Set ESIM_WEBHOOK_SECRET/],
  ])("rejects %s", async (_, options, code, message) => {
    const server = fastify();
    const error = await Promise.resolve(server.register(webhookPlugin, { secret, ...options } as never))
      .then(
        () => server.ready(),
        (reason: unknown) => reason,
      )
      .catch((reason: unknown) => reason);
    expect(WebhookError.is(error) && error.code).toBe(code);
    expect((error as Error).message).toMatch(message);
  });

  it("declares its Fastify version, which Fastify checks", async () => {
    const meta = (webhookPlugin as unknown as Record<symbol, unknown>)[Symbol.for("plugin-meta")];
    expect(meta).toMatchObject({ name: "@esim-webhooks/fastify", fastify: "5.x" });
  });
});
