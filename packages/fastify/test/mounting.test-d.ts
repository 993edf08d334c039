import { type DataOf, defineCatalog } from "@esim-webhooks/core";
import { webhookPlugin } from "@esim-webhooks/fastify";
import fastify from "fastify";
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
  fastify().register(webhookPlugin<DataOf<typeof catalog>>, {
    catalog,
    handlers: {
      "package.created": ({ data }) => expectTypeOf(data.price).toEqualTypeOf<number>(),
      "esim.faulted": ({ data }) => expectTypeOf(data.esimReference).toEqualTypeOf<string>(),
    },
  });
});
