import {
  createProcessor,
  createWorker,
  type EsimEvents,
  type Handlers,
  webhookHandler,
} from "@esim-webhooks/core";
import { latestOnly, postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { drizzle, type NodePgDatabase } from "drizzle-orm/node-postgres";
import type { Kysely, Transaction } from "kysely";
import type { PoolClient } from "pg";
import { describe, expectTypeOf, test } from "vitest";

interface Shop {
  order: { event: string };
}

describe("context.tx is typed by the user's own schema", () => {
  test("from the type given to the store", () => {
    const store = postgresStore<Shop>({ url: "postgres://localhost/shop" });
    createProcessor(
      {
        "esim.faulted": ({ data }, { tx }) => {
          expectTypeOf(tx).toEqualTypeOf<Transaction<Shop>>();
          return tx.insertInto("order").values({ event: data.reason }).execute();
        },
      },
      { store },
    );
    webhookHandler({ "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<Transaction<Shop>>() }, { store });
    // @ts-expect-error the schema has no such table
    createProcessor({ "*": (_, { tx }) => tx.selectFrom("orders") }, { store });
  });

  test("from the kysely instance that was passed", () => {
    const kysely = {} as Kysely<Shop>;
    webhookHandler(
      { "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<Transaction<Shop>>() },
      { store: postgresStore({ kysely }) },
    );
  });

  test("is what latestOnly gives to its handler, which goes with no other store", () => {
    const handlers: Handlers<EsimEvents, Transaction<Shop>> = {
      "esim.enabled": latestOnly({ state: "profile" }, (_, { tx }) =>
        expectTypeOf(tx).toEqualTypeOf<Transaction<Shop>>(),
      ),
    };
    webhookHandler(handlers, { store: postgresStore<Shop>({ url: "postgres://localhost/shop" }) });
    // @ts-expect-error there is no transaction
    webhookHandler({ "esim.enabled": latestOnly({ state: "profile" }, () => {}) });
  });

  test("is unknown without such a store, and handlers that do not use it go with any store", () => {
    webhookHandler({ "*": (_, { tx }) => expectTypeOf(tx).toBeUnknown() });
    const handlers: Handlers<EsimEvents> = { "*": () => {} };
    webhookHandler(handlers, { store: postgresStore<Shop>({ url: "postgres://localhost/shop" }) });
  });

  test("is what the tx option makes of a client of pg", () => {
    const url = "postgres://localhost/shop";
    webhookHandler(
      { "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<PoolClient>() },
      { store: postgresStore({ url, tx: (client) => client }) },
    );
    const inbox = postgresInbox({ url, tx: (client) => drizzle(client) });
    createWorker(inbox, { "*": (_, { tx }) => expectTypeOf(tx).toExtend<NodePgDatabase>() });
    createWorker(inbox, {
      "esim.enabled": latestOnly({ state: "profile" }, (_, { tx }) =>
        expectTypeOf(tx).toExtend<NodePgDatabase>(),
      ),
    });
    // @ts-expect-error no kysely transaction
    createWorker(inbox, { "*": (_, { tx }) => tx.selectFrom("orders") });
  });
});
