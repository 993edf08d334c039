import { createCatalog, type DedupeStore, defineCatalog } from "@esim-webhooks/core";
import { webhookPlugin } from "@esim-webhooks/fastify";
import fastify, { type FastifyBaseLogger, type FastifyInstance } from "fastify";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

test("handlers are typed where the plugin is registered", () => {
  const app = fastify();
  app.register(webhookPlugin, {
    handlers: { "esim.faulted": ({ data }) => expectTypeOf(data.esimReference).toEqualTypeOf<string>() },
    prefix: "/hooks",
  });
  // @ts-expect-error there is no such event type
  app.register(webhookPlugin, { handlers: { "esim.fautled": () => {} } });
});

test("a defined catalog types the handlers too", () => {
  const catalog = defineCatalog({ "package.created": z.object({ price: z.number() }) });
  fastify().register(webhookPlugin, {
    catalog,
    handlers: {
      "package.created": ({ data }) => expectTypeOf(data.price).toEqualTypeOf<number>(),
      "esim.faulted": ({ data }) => expectTypeOf(data.esimReference).toEqualTypeOf<string>(),
      "package.*": (event) => {
        if (event.type === "package.created") expectTypeOf(event.data.price).toEqualTypeOf<number>();
      },
    },
    prefix: "/hooks",
  });
  // @ts-expect-error not in this catalog
  fastify().register(webhookPlugin, { catalog, handlers: { "package.renewed": () => {} } });
  // @ts-expect-error there is no such option
  fastify().register(webhookPlugin, { catalog, handlers: { "package.created": () => {} }, pth: "/" });
});

test("a catalog of other events types the handlers, and an app with a logger of its own takes them", () => {
  const catalog = createCatalog({ "order.paid": z.object({ price: z.number() }) });
  const app = fastify({ loggerInstance: {} as FastifyBaseLogger & { readonly own: true } });
  app.register(webhookPlugin, {
    catalog,
    handlers: { "order.paid": ({ data }) => expectTypeOf(data.price).toEqualTypeOf<number>() },
  });
  // @ts-expect-error the eSIM events are not in it
  app.register(webhookPlugin, { catalog, handlers: { "esim.faulted": () => {} } });
});

test("a transactional store types context.tx", () => {
  const store = {} as DedupeStore<{ query(text: string): void }>;
  fastify().register(webhookPlugin, {
    store,
    handlers: { "esim.faulted": (_event, { tx }) => tx.query("select 1") },
  });
});

test("an inbox needs no handlers, and other plugins are registered as before", () => {
  const app = fastify();
  app.register(webhookPlugin, { inbox: { put: async (entries) => entries.map(() => "stored" as const) } });
  const other = async (_app: FastifyInstance, options: { greeting: string }) => void options;
  app.register(other, { greeting: "hello", prefix: "/other" });
  // @ts-expect-error a greeting is text
  app.register(other, { greeting: 7 });
});
