import type { StartServer } from "@esim-webhooks/conformance";
import { EsimWebhooks, EsimWebhooksModule, type EsimWebhooksOptions, OnEsimEvent } from "@esim-webhooks/nest";
import { type INestApplication, Module, type ModuleMetadata, type Type } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express, { type RequestHandler } from "express";

type Method = (event: never, context: never) => unknown;

/** Decorates a method, as `@OnEsimEvent(name)` does where TypeScript compiles decorators. */
export function decorate(type: Type, method: string, name: string, decorator: unknown = OnEsimEvent): void {
  const descriptor = Object.getOwnPropertyDescriptor(type.prototype, method);
  (decorator as (name: string) => MethodDecorator)(name)(type.prototype, method, descriptor ?? {});
}

/** A class with one decorated method for each handler. */
export function handlersClass(handlers: Readonly<Record<string, Method>>, className = "Handlers"): Type {
  const type = { [className]: class {} }[className] as Type;
  for (const [name, handler] of Object.entries(handlers)) {
    const method = `on ${name}`;
    Object.defineProperty(type.prototype, method, { value: handler, configurable: true, writable: true });
    decorate(type, method, name);
  }
  return type;
}

/** A module class. */
export function moduleOf(metadata: ModuleMetadata, name = "AppModule"): Type {
  const type = { [name]: class {} }[name] as Type;
  Module(metadata)(type);
  return type;
}

export interface Platform {
  readonly name: "Express" | "Fastify";
  /** `before` runs before everything that Nest mounts. */
  adapter(before?: () => Promise<void>): ExpressAdapter | FastifyAdapter;
}

export const platforms: readonly [Platform, Platform] = [
  {
    name: "Express",
    adapter(before = async () => {}) {
      const wait: RequestHandler = (_request, _response, next) => void before().then(() => next());
      return new ExpressAdapter(express().use(wait));
    },
  },
  {
    name: "Fastify",
    adapter(before = async () => {}) {
      const adapter = new FastifyAdapter({ return503OnClosing: false });
      adapter.getInstance().addHook("onRequest", before);
      return adapter;
    },
  },
];

/** Starts an application with the module on a free port of the loopback interface. */
export async function startNest(
  platform: Platform,
  options: EsimWebhooksOptions,
  metadata: ModuleMetadata,
  prepare: (app: INestApplication) => unknown = () => {},
  nestOptions: object = {},
): Promise<{ readonly app: INestApplication; readonly url: string }> {
  const imports = [EsimWebhooksModule.forRoot(options), ...(metadata.imports ?? [])];
  const app = await NestFactory.create(moduleOf({ ...metadata, imports }), platform.adapter(), {
    logger: false,
    abortOnError: false,
    forceCloseConnections: true,
    ...nestOptions,
  });
  await prepare(app);
  await app.listen(0, "127.0.0.1");
  return { app, url: await app.getUrl() };
}

/** For `receiverSuite`. */
export function onNest(platform: Platform): StartServer {
  return async (target, options, before) => {
    const isInbox = "put" in target;
    const module = moduleOf({
      imports: [EsimWebhooksModule.forRoot({ ...options, ...(isInbox && { inbox: target as never }) })],
      providers: isInbox ? [] : [handlersClass(target as Record<string, Method>)],
    });
    const app = await NestFactory.create(module, platform.adapter(before), {
      logger: false,
      abortOnError: false,
      forceCloseConnections: true,
    });
    await app.listen(0, "127.0.0.1");
    return {
      url: `${await app.getUrl()}/webhooks`,
      shutDown: async () => app.get(EsimWebhooks).receiver?.close(),
      close: () => app.close(),
    };
  };
}
