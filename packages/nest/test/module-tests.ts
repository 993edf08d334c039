import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { defineCatalog, type HandlerContext, type Logger, WebhookError } from "@esim-webhooks/core";
import { memoryInbox, newSecret, signedRequest } from "@esim-webhooks/core/testing";
import {
  EsimWebhooks,
  EsimWebhooksModule,
  type EsimWebhooksOptions,
  eventDecorator,
  OnEsimEvent,
} from "@esim-webhooks/nest";
import {
  Controller,
  Get,
  type INestApplication,
  Inject,
  Injectable,
  type MiddlewareConsumer,
  Post,
  Req,
  Scope,
  type Type,
  VersioningType,
} from "@nestjs/common";
import { APP_GUARD, APP_INTERCEPTOR, APP_PIPE, NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { Test } from "@nestjs/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { loggerWith } from "../../../test/support/loggers.ts";
import { signedDelivery } from "../../../test/support/signed-delivery.ts";
import { decorate, handlersClass, moduleOf, type Platform, platforms, startNest } from "./nest-app.ts";

const secret = newSecret();
type Faulted = { readonly type: string; readonly data: { readonly reason: string } };

function faulted(data: object = {}) {
  return signedDelivery(secret, { data });
}

async function answerOf(response: Response): Promise<unknown> {
  const { outcome, code } = (await response.json()) as { readonly outcome?: string; readonly code?: string };
  return [response.status, outcome ?? code];
}

async function send(url: string, request = faulted()): Promise<unknown> {
  return answerOf(await fetch(url, request));
}

/** Starts an application, and closes it after the test. */
async function start(...args: Parameters<typeof startNest>): ReturnType<typeof startNest> {
  const started = await startNest(...args);
  onTestFinished(() => started.app.close());
  return started;
}

/** What an application with these providers rejects with at its start. */
async function startError(
  providers: Type[],
  options: object = {},
  imports: Type[] = [],
): Promise<WebhookError> {
  const module = moduleOf({
    imports: [EsimWebhooksModule.forRoot({ secret, ...options }), ...imports],
    providers,
  });
  const app = await NestFactory.create(module, { logger: false, abortOnError: false });
  onTestFinished(() => app.close());
  const error = await app.init().catch((reason: unknown) => reason);
  if (WebhookError.is(error)) return error as WebhookError;
  throw new Error("The application has started.", { cause: error });
}

function recordedLog(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  const warn: Logger["warn"] = (_, message) => warnings.push(message);
  return { logger: loggerWith({ warn, error: warn }), warnings };
}

/** The hooks of Nest in the order in which they run, and those of a provider among them. */
function hooked(log: string[]): Type {
  class Database {
    onModuleInit() {
      log.push("database connects");
    }
    async onApplicationBootstrap() {
      log.push("database is ready");
    }
    onModuleDestroy() {
      log.push("database disconnects");
    }
  }
  return Database;
}

export function moduleTests(version: string): void {
  describe.each(platforms.map((platform) => [platform.name, platform] as const))(
    `EsimWebhooksModule with ${version} on %s`,
    (_, platform) => platformTests(platform),
  );

  describe(`EsimWebhooksModule with ${version} at the start`, startTests);
}

function platformTests(platform: Platform): void {
  it("calls a decorated method with the event and its context, and with what is injected", async () => {
    const noted: unknown[] = [];
    class Notes {
      note(...args: unknown[]) {
        noted.push(args);
      }
    }
    class Faults {
      readonly notes: Notes;
      constructor(notes: Notes) {
        this.notes = notes;
      }
      onFault({ data }: Faulted, { source, attempt }: HandlerContext) {
        this.notes.note(data.reason, source, attempt);
      }
    }
    Injectable()(Faults);
    Inject(Notes)(Faults, undefined, 0);
    decorate(Faults, "onFault", "esim.faulted");
    const { url } = await start(platform, { secret, source: "eu" }, { providers: [Notes, Faults] });
    expect(await send(`${url}/webhooks`)).toEqual([200, "processed"]);
    expect(noted).toEqual([["download_order_expired", "eu", 1]]);
    const forged = { ...faulted(), body: "{}" };
    expect(await send(`${url}/webhooks`, forged)).toEqual([401, "no_matching_key"]);
    expect(noted).toHaveLength(1);
  });

  it("answers a delivery that arrives before the application is initialized 503, so that the sender tries again", async () => {
    const imports = [EsimWebhooksModule.forRoot({ secret })];
    const module = moduleOf({ imports, providers: [handlersClass({ "*": () => {} })] });
    const adapter = platform.adapter();
    const app = await NestFactory.create(module, adapter, { logger: false, abortOnError: false });
    onTestFinished(() => app.close());
    if (adapter instanceof FastifyAdapter) {
      const { method, headers, body } = faulted();
      const early = await adapter.getInstance().inject({ method, url: "/webhooks", headers, payload: body });
      expect([early.statusCode, early.headers["retry-after"]]).toEqual([503, "5"]);
      return; // an instance that has answered can no longer be initialized
    }
    const server = createServer(adapter.getInstance());
    await once(server.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void server.close());
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
    const early = await fetch(url, faulted());
    expect([early.status, early.headers.get("retry-after")]).toEqual([503, "5"]);
    expect((await fetch(url)).status).toBe(404);
    await app.init();
    expect(await send(url)).toEqual([200, "processed"]);
  });

  it("calls the most specific of a type's, a family's and the star's methods", async () => {
    const calls: string[] = [];
    const handlers = Object.fromEntries(
      ["esim.faulted", "esim.lifecycle.*", "*"].map((name) => [
        name,
        ({ type }: Faulted) => calls.push(`${name} got ${type}`),
      ]),
    );
    const { url } = await start(platform, { secret }, { providers: [handlersClass(handlers)] });
    for (const type of ["esim.faulted", "esim.lifecycle.suspended", "esim.enabled"] as const) {
      const request = signedDelivery(secret, { type });
      expect(await send(`${url}/webhooks`, request)).toEqual([200, "processed"]);
    }
    const unknown = signedRequest({ type: "esim.renamed" as never, data: {} as never }, { secret });
    expect(await send(`${url}/webhooks/?x=1`, unknown)).toEqual([200, "processed"]);
    expect(calls).toEqual([
      "esim.faulted got esim.faulted",
      "esim.lifecycle.* got esim.lifecycle.suspended",
      "* got esim.enabled",
      "* got esim.renamed",
    ]);
  });

  it.each([true, false])(
    "reads the raw body before Nest's parser with { rawBody: %s }, and leaves other routes their bodies",
    async (rawBody) => {
      class Orders {
        create(request: { readonly body: object; readonly rawBody?: Buffer }) {
          return { ...request.body, raw: request.rawBody?.toString() ?? null };
        }
      }
      Controller("orders")(Orders);
      Post()(Orders.prototype, "create", Object.getOwnPropertyDescriptor(Orders.prototype, "create") ?? {});
      Req()(Orders.prototype, "create", 0);
      const metadata = { controllers: [Orders], providers: [handlersClass({ "*": () => {} })] };
      const { url } = await start(platform, { secret }, metadata, undefined, { rawBody });
      expect(await send(`${url}/webhooks`)).toEqual([200, "processed"]);
      const order = { method: "POST", headers: { "content-type": "application/json" }, body: '{"a":1}' };
      const answer = await fetch(`${url}/orders`, order);
      expect(await answer.json()).toEqual({ a: 1, raw: rawBody ? '{"a":1}' : null });
    },
  );

  it("accepts bodies that are too long for Nest's parser, and answers 503 to those above maxBodyBytes", async () => {
    const { logger, warnings } = recordedLog();
    const options = { secret, logger, maxBodyBytes: 2_000_000 };
    const { url } = await start(platform, options, { providers: [handlersClass({ "*": () => {} })] });
    const long = faulted({ detail: "x".repeat(1_500_000) });
    expect(await send(`${url}/webhooks`, long)).toEqual([200, "processed"]);
    expect(warnings).toEqual([]);
    const longer = faulted({ detail: "x".repeat(2_500_000) });
    expect(await send(`${url}/webhooks`, longer)).toEqual([503, "too_large"]);
    expect(warnings).toHaveLength(1);
  });

  it("waits at its whole path with any prefix, version and middleware of the application, and warns of a missed delivery", async () => {
    const ran: string[] = [];
    const middleware = (_request: unknown, _response: unknown, next: () => void) => {
      ran.push("middleware");
      next();
    };
    const api = (app: INestApplication) =>
      app
        .use(middleware)
        .setGlobalPrefix("api")
        .enableVersioning({ type: VersioningType.URI, defaultVersion: "1" });
    const guard = { provide: APP_GUARD, useValue: { canActivate: () => ran.push("guard") < 0 } };
    const pipe = { provide: APP_PIPE, useValue: { transform: () => ran.push("pipe") } };
    const interceptor = { provide: APP_INTERCEPTOR, useValue: { intercept: () => ran.push("interceptor") } };
    const Module = moduleOf({});
    Module.prototype.configure = (consumer: MiddlewareConsumer) =>
      consumer.apply(middleware).forRoutes("*path");
    const metadata = {
      imports: [Module],
      providers: [handlersClass({ "*": () => {} }), guard, pipe, interceptor],
    };
    const { logger, warnings } = recordedLog();
    const { url } = await start(platform, { secret, logger }, metadata, api);
    expect(await send(`${url}/webhooks`)).toEqual([200, "processed"]);
    expect((await fetch(`${url}/webhooks`)).status).toBe(405);
    expect(ran).toEqual([]);
    for (const _ of [1, 2]) expect((await fetch(`${url}/api/webhooks`, faulted())).status).toBe(404);
    expect(ran).toContain("middleware");
    await expect
      .poll(() => warnings)
      .toEqual([expect.stringContaining("the webhook receiver waits for /webhooks.")]);
    const prefixed = await start(platform, { secret, path: "/api/webhooks" }, metadata, api);
    expect(await send(`${prefixed.url}/api/webhooks`)).toEqual([200, "processed"]);
  });

  it("finishes deliveries in flight and answers 503 to others before any provider is destroyed", async () => {
    const log: string[] = [];
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const Handlers = handlersClass({
      "esim.faulted": async () => {
        entered.resolve();
        await gate.promise;
        log.push("handled");
      },
    });
    const Database = hooked(log);
    const metadata = {
      imports: [moduleOf({ providers: [Database] }, "DatabaseModule")],
      providers: [Handlers],
    };
    const { app, url } = await startNest(platform, { secret }, metadata);
    const first = send(`${url}/webhooks`);
    await entered.promise;
    const closing = app.get(EsimWebhooks).receiver?.closing;
    const closed = app.close();
    await (closing?.aborted || once(closing as AbortSignal, "abort"));
    expect(await send(`${url}/webhooks`)).toEqual([503, "shutting_down"]);
    gate.resolve();
    expect(await first).toEqual([200, "processed"]);
    await closed;
    expect(log).toEqual(["database connects", "database is ready", "handled", "database disconnects"]);
  });

  it("closes in spite of a handler that never ends, whose delivery the sender sends again", async () => {
    const metadata = { providers: [handlersClass({ "*": () => new Promise(() => {}) })] };
    const { app, url } = await startNest(platform, { secret, deadlineMs: 50 }, metadata);
    expect(await send(`${url}/webhooks`)).toEqual([503, "deadline_reached"]);
    await app.close();
  });

  it("receives for several endpoints, each with its path, secret and source", async () => {
    const sources: string[] = [];
    const ofUs = newSecret();
    const us = EsimWebhooksModule.forRoot({ path: "/us", secret: ofUs, source: "us" });
    const handlers = handlersClass({ "*": (_: unknown, { source }: HandlerContext) => sources.push(source) });
    const metadata = { imports: [us], providers: [handlers] };
    const { url } = await start(platform, { path: "/eu", secret, source: "eu" }, metadata);
    const request = signedDelivery(ofUs);
    expect(await send(`${url}/us`, request)).toEqual([200, "processed"]);
    expect(await send(`${url}/eu`)).toEqual([200, "processed"]);
    expect(await send(`${url}/us`)).toEqual([401, "no_matching_key"]);
    expect(sources).toEqual(["us", "eu"]);
  });

  it("stores in the inbox and answers 202; a worker in this process handles, and drains before any provider is destroyed", async () => {
    const log: string[] = [];
    const entered = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const Handlers = handlersClass({
      "esim.faulted": async () => {
        entered.resolve();
        await gate.promise;
        log.push("handled");
      },
    });
    const inbox = memoryInbox();
    const Database = hooked(log);
    const metadata = {
      imports: [moduleOf({ providers: [Database] }, "DatabaseModule")],
      providers: [Handlers],
    };
    const { app, url } = await startNest(platform, { secret, inbox, worker: { pollMs: 5 } }, metadata);
    expect(await send(`${url}/webhooks`)).toEqual([202, "stored"]);
    await entered.promise;
    const { receiver, worker } = app.get(EsimWebhooks);
    expect(worker?.slots().running).toBe(1);
    const closing = receiver?.closing;
    const closed = app.close();
    await (closing?.aborted || once(closing as AbortSignal, "abort"));
    gate.resolve();
    await closed;
    expect(log).toEqual(["database connects", "database is ready", "handled", "database disconnects"]);
    expect((await inbox.count({})) as unknown).toBe(1);
  });

  it("stores without handlers in one process, and a process without HTTP handles with a worker", async () => {
    const inbox = memoryInbox();
    const { url, app } = await start(platform, { secret, inbox }, {});
    expect(await send(`${url}/webhooks`)).toEqual([202, "stored"]);
    expect(app.get(EsimWebhooks).worker).toBeUndefined();
    const handled = Promise.withResolvers<string>();
    const module = moduleOf({
      imports: [EsimWebhooksModule.forRoot({ inbox, worker: { pollMs: 5 } })], // it needs no secret
      providers: [handlersClass({ "*": ({ type }: Faulted) => handled.resolve(type) })],
    });
    const context = await NestFactory.createApplicationContext(module, {
      logger: false,
      abortOnError: false,
    });
    onTestFinished(() => context.close());
    expect(await handled.promise).toBe("esim.faulted");
    expect(context.get(EsimWebhooks).receiver).toBeUndefined();
  });

  it("receives nothing with { path: false }, as in a worker that has health checks", async () => {
    const inbox = memoryInbox();
    const options: EsimWebhooksOptions = { path: false, inbox, worker: {} };
    const { url, app } = await start(platform, options, { providers: [handlersClass({ "*": () => {} })] });
    expect((await fetch(`${url}/webhooks`, faulted())).status).toBe(404);
    expect(app.get(EsimWebhooks).receiver).toBeUndefined();
    expect(await app.get(EsimWebhooks).isLive()).toEqual({
      "esim-webhooks": { status: "up", event_loop: "up", worker: "up" },
    });
  });

  it("is mounted before the parser in an application of @nestjs/testing, whose providers can be replaced", async () => {
    const reasons: string[] = [];
    class Notes {
      note(_reason: string) {
        throw new Error("the real one");
      }
    }
    class Faults {
      readonly notes: Notes;
      constructor(notes: Notes) {
        this.notes = notes;
      }
      onFault({ data }: Faulted) {
        this.notes.note(data.reason);
      }
    }
    Injectable()(Faults);
    Inject(Notes)(Faults, undefined, 0);
    decorate(Faults, "onFault", "esim.faulted");
    const imports = [EsimWebhooksModule.forRoot({ secret })];
    const testing = await Test.createTestingModule({ imports, providers: [Notes, Faults] })
      .overrideProvider(Notes)
      .useValue({ note: (reason: string) => reasons.push(reason) })
      .compile();
    const app = testing.createNestApplication(platform.adapter(), { logger: false });
    onTestFinished(() => app.close());
    await app.listen(0, "127.0.0.1");
    expect(await send(`${await app.getUrl()}/webhooks`)).toEqual([200, "processed"]);
    const spy = vi.spyOn(app.get(Faults), "onFault").mockReturnValue(undefined);
    expect(await send(`${await app.getUrl()}/webhooks`)).toEqual([200, "processed"]);
    expect(spy).toHaveBeenCalledOnce();
    expect(reasons).toEqual(["download_order_expired"]);
    const adapter = app.getHttpAdapter();
    if (!(adapter instanceof FastifyAdapter)) return;
    const { method, headers, body } = faulted();
    const injected = await adapter.getInstance().inject({ method, url: "/webhooks", headers, payload: body });
    expect([injected.statusCode, injected.json()]).toEqual([200, { outcome: "processed" }]);
  });

  it("shows as health what is ready, and the codes of what is not", async () => {
    const { app } = await start(platform, { secret, inbox: memoryInbox() }, {});
    expect(await app.get(EsimWebhooks).isReady()).toEqual({
      "esim-webhooks": { status: "up", process: "up", receiver: "up", inbox: "up" },
    });
    const inbox = Object.assign(memoryInbox(), {
      async ready() {
        throw new WebhookError("store_unavailable", "It is down.", "Start it.");
      },
    });
    const { app: other } = await start(platform, { secret, inbox }, {});
    await other.get(EsimWebhooks).receiver?.close();
    expect(await other.get(EsimWebhooks).isReady("events")).toEqual({
      events: { status: "down", process: "up", receiver: "shutting_down", inbox: "store_unavailable" },
    });
  });
}

function startTests(): void {
  class Faults {
    onFault() {}
  }
  decorate(Faults, "onFault", "esim.faulted");

  it("names both methods that handle one type, and a class that two modules list", async () => {
    const other = handlersClass({ "esim.faulted": () => {} }, "Orders");
    const two = await startError([Faults, other]);
    expect(two.code).toBe("duplicate_handler");
    expect(two.problem).toBe(
      'Faults.onFault (AppModule) and Orders.on esim.faulted (AppModule) both handle "esim.faulted".',
    );
    const twice = await startError([Faults], {}, [moduleOf({ providers: [Faults] }, "ShopModule")]);
    expect(twice.problem).toMatch(
      /Faults\.onFault \((App|Shop)Module\) and Faults\.onFault \((App|Shop)Module\) both/,
    );
    expect(twice.remedy).toContain("list it in the providers of one module, which exports it");
  });

  it.each([
    ["is request-scoped", Scope.REQUEST],
    ["is transient", Scope.TRANSIENT],
  ])("refuses a handler whose provider %s, and says what to do", async (_, scope) => {
    const Scoped = handlersClass({ "esim.faulted": () => {} }, "Scoped");
    Injectable({ scope })(Scoped);
    const error = await startError([Scoped]);
    expect(error.code).toBe("scoped_handler");
    expect(error.problem).toMatch(/^Scoped\.on esim\.faulted \(AppModule\) handles "esim\.faulted", but/);
    expect(error.remedy).toMatch(/default scope, or inject ModuleRef/);
  });

  it("refuses a handler that injects a request-scoped provider", async () => {
    class Tenant {}
    Injectable({ scope: Scope.REQUEST })(Tenant);
    const Handlers = handlersClass({ "esim.faulted": () => {} });
    Inject(Tenant)(Handlers, undefined as never, 0);
    expect((await startError([Tenant, Handlers])).code).toBe("scoped_handler");
  });

  it("says that there are no handlers, or that a type is misspelt", async () => {
    const none = await startError([]);
    expect(none.code).toBe("no_handlers");
    expect(none.remedy).toContain("list its class in the providers of a module that the application imports");
    const misspelt = await startError([handlersClass({ "esim.fautled": () => {} })]);
    expect(misspelt.code).toBe("unknown_event_type");
    expect(misspelt.remedy).toContain('Did you mean "esim.faulted"?');
  });

  it("refuses a wrong set-up, and says how to fix it", async () => {
    vi.stubEnv("ESIM_WEBHOOK_SECRET", "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const errors = [];
    for (const options of [{ secret: undefined }, { pth: "/hooks" }])
      errors.push(await startError([Faults], options));
    expect(errors.map(({ code, remedy }) => [code, remedy])).toEqual([
      ["missing_secret", expect.stringContaining("ESIM_WEBHOOK_SECRET")],
      ["invalid_option", 'Did you mean "path"?'],
    ]);
    for (const [options, remedy] of [
      [{ path: "webhooks" }, /such as "\/webhooks"/],
      [{ worker: {} }, /Pass an inbox such as/],
    ] as const) {
      const module = moduleOf({
        imports: [EsimWebhooksModule.forRoot({ secret, ...options })],
        providers: [Faults],
      });
      await expect(NestFactory.create(module, { logger: false, abortOnError: false })).rejects.toThrow(
        remedy,
      );
    }
  });

  it("refuses a decorator on a static method, or one that is not compiled as a legacy decorator", () => {
    const misplaced = () => OnEsimEvent("esim.faulted")(class {}, "onFault", {});
    expect(misplaced).toThrow(/is on a static method.*"experimentalDecorators": true/);
  });

  it("finds methods of controllers and superclasses, under other decorators, once for each alias", async () => {
    const calls: string[] = [];
    class Base {
      onFault() {
        calls.push("base");
      }
    }
    decorate(Base, "onFault", "esim.faulted");
    decorate(Base, "onFault", "esim.deleted");
    class Derived extends Base {
      override onFault() {
        calls.push("derived");
      }
    }
    class Health {
      probe() {}
      onEnabled() {}
    }
    Controller("health")(Health);
    Get()(Health.prototype, "probe", Object.getOwnPropertyDescriptor(Health.prototype, "probe") ?? {});
    decorate(Health, "onEnabled", "esim.enabled");
    const { onEnabled } = Health.prototype;
    Health.prototype.onEnabled = function wrapped() {
      calls.push("wrapped");
      return onEnabled.call(this);
    };
    const metadata = {
      controllers: [Health],
      providers: [Derived, { provide: "alias", useExisting: Derived }],
    };
    const { url } = await start(platforms[0], { secret }, metadata);
    for (const type of ["esim.faulted", "esim.deleted", "esim.enabled"] as const) {
      const request = signedDelivery(secret, { type });
      expect(await send(`${url}/webhooks`, request)).toEqual([200, "processed"]);
    }
    expect(calls).toEqual(["derived", "derived", "wrapped"]);
  });

  it("takes types of a catalog of one's own", async () => {
    const catalog = defineCatalog({ "package.created": z.object({ price: z.number() }) });
    const prices: number[] = [];
    class Packages {
      onCreated({ data }: { readonly data: { readonly price: number } }) {
        prices.push(data.price);
      }
    }
    decorate(Packages, "onCreated", "package.created", eventDecorator(catalog));
    const { url } = await start(platforms[0], { secret, catalog } as never, { providers: [Packages] });
    const request = signedRequest(
      { type: "package.created" as never, data: { price: 7 } as never },
      { secret },
    );
    expect(await send(`${url}/webhooks`, request)).toEqual([200, "processed"]);
    expect(prices).toEqual([7]);
  });

  it("takes options from other providers, and closes the inbox that they made with the application", async () => {
    const closed: string[] = [];
    const inbox = Object.assign(memoryInbox(), { close: async () => void closed.push("inbox") });
    const Config = moduleOf({ providers: [{ provide: "secret", useValue: secret }], exports: ["secret"] });
    const webhooks = EsimWebhooksModule.forRootAsync({
      imports: [Config],
      inject: ["secret"],
      useFactory: async (given: string) => ({ secret: given, inbox }),
    });
    const app = await NestFactory.create(moduleOf({ imports: [webhooks] }), {
      logger: false,
      abortOnError: false,
    });
    await app.listen(0, "127.0.0.1");
    expect(await send(`${await app.getUrl()}/webhooks`)).toEqual([202, "stored"]);
    await app.close();
    expect(closed).toEqual(["inbox"]);
    const { app: other } = await startNest(platforms[0], { secret, inbox }, {});
    await other.close();
    expect(closed).toEqual(["inbox"]); // passed to forRoot, it stays its owner's
  });

  it("logs to the application's logger, with fields and stacks, and prints where each event goes", async () => {
    const lines: unknown[][] = [];
    const write =
      (level: string) =>
      (...args: unknown[]) =>
        lines.push([level, ...args]);
    const logger = { log: write("log"), error: write("error"), warn: write("warn"), debug: write("debug") };
    class Failing {
      onFault(_event: unknown, context: HandlerContext) {
        context.logger.info({ order: 7 }, "Trying.");
        throw new Error("the shop is closed");
      }
    }
    decorate(Failing, "onFault", "esim.faulted");
    const { url } = await start(platforms[0], { secret }, { providers: [Failing] }, undefined, { logger });
    expect(lines.map(([, text]) => text)).toContain(
      "Webhooks: POST /webhooks, handlers run inline; esim.faulted → Failing.onFault (AppModule)",
    );
    expect(await send(`${url}/webhooks`)).toEqual([500, "failed"]);
    const own = lines.filter((line) => line.at(-1) === "EsimWebhooks");
    expect(own).toContainEqual(["log", expect.stringMatching(/^Trying\. \{.*"order":7/), "EsimWebhooks"]);
    expect(own).toContainEqual([
      "error",
      expect.stringMatching(/"type":"esim\.faulted"/),
      expect.stringContaining("the shop is closed"),
      "EsimWebhooks",
    ]);
  });
}
