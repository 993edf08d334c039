import { createProcessor, type EsimEvents, type Handlers, webhookHandler } from "@esim-webhooks/core";
import { postgresStore } from "@esim-webhooks/store-postgres";
import type { Kysely, Transaction } from "kysely";
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

  test("from the kysely instance that was handed in", () => {
    const kysely = {} as Kysely<Shop>;
    webhookHandler(
      { "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<Transaction<Shop>>() },
      { store: postgresStore({ kysely }) },
    );
  });

  test("is unknown without such a store, and handlers that do not use it go with any store", () => {
    webhookHandler({ "*": (_, { tx }) => expectTypeOf(tx).toBeUnknown() });
    const handlers: Handlers<EsimEvents> = { "*": () => {} };
    webhookHandler(handlers, { store: postgresStore<Shop>({ url: "postgres://localhost/shop" }) });
  });
});
