import { defineConfig } from "@esim-webhooks/cli";
import { type DedupeStore, defineCatalog } from "@esim-webhooks/core";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { type SqliteTransaction, sqliteInbox } from "@esim-webhooks/store-sqlite";
import type { Transaction } from "kysely";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

interface Database {
  orders: { esim: string };
}

const catalog = defineCatalog({ "package.created": z.object({ price: z.number() }) });

it("types handlers by the eSIM events when there is no catalog", () => {
  defineConfig({
    handlers: {
      "esim.faulted": ({ data }) => {
        expectTypeOf(data.esimReference).toEqualTypeOf<string>();
      },
      "esim.lifecycle.*": (event) => {
        if (event.type === "esim.lifecycle.suspended")
          expectTypeOf(event.data.lifecycleStatus).toEqualTypeOf<"suspended">();
      },
    },
  });
});

it("types handlers by its catalog", () => {
  defineConfig({
    catalog,
    handlers: {
      "package.created": ({ data }) => {
        expectTypeOf(data.price).toEqualTypeOf<number>();
      },
    },
    worker: { typeLimits: { "package.created": 1 } },
  });
});

it("types context.tx by the target, and by the store", () => {
  defineConfig({
    target: postgresInbox<Database>({ url: "postgres://localhost/shop" }),
    handlers: {
      "esim.faulted": (_event, { tx }) => {
        expectTypeOf(tx).toEqualTypeOf<Transaction<Database>>();
      },
    },
  });
  defineConfig({
    target: sqliteInbox({ path: "data/events.db" }),
    handlers: {
      "esim.faulted": (_event, { tx }) => {
        expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>();
      },
    },
  });
  defineConfig({
    store: postgresStore<Database>({ url: "postgres://localhost/shop" }),
    handlers: {
      "esim.faulted": (_event, { tx }) => {
        expectTypeOf(tx).toEqualTypeOf<Transaction<Database>>();
      },
    },
  });
});

it("accepts a target that has only put", () => {
  defineConfig({ target: { put: async (entries) => entries.map(() => "stored" as const) } });
});

it("takes the options of the client as api, and refuses a misspelt one", () => {
  defineConfig({ api: { baseUrl: "https://partner.example/api/v3", maxAttempts: 3 } });
  // @ts-expect-error misspelt
  defineConfig({ api: { baseURL: "https://partner.example/api/v3" } });
});

it("refuses a misspelt event type, a misspelt option and a store that is a URL", () => {
  // @ts-expect-error misspelt
  defineConfig({ handlers: { "esim.fautled": () => {} } });
  // @ts-expect-error misspelt
  defineConfig({ handlrs: {} });
  // @ts-expect-error a URL is no store
  defineConfig({ store: "redis://localhost" });
  expectTypeOf<{ store?: DedupeStore }>().toExtend<Parameters<typeof defineConfig>[0]>();
});
