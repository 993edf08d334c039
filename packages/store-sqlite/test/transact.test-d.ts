import {
  createProcessor,
  createWorker,
  type EsimEvents,
  type Handlers,
  webhookHandler,
} from "@esim-webhooks/core";
import {
  latestOnly,
  type SqliteTransaction,
  type SqliteValue,
  sqliteInbox,
  sqliteStore,
} from "@esim-webhooks/store-sqlite";
import { describe, expectTypeOf, test } from "vitest";

const options = { path: "events.db" };

describe("context.tx is SQLite's", () => {
  test("for handlers of the store and of the inbox", () => {
    const store = sqliteStore(options);
    createProcessor({ "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>() }, { store });
    webhookHandler({ "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>() }, { store });
    createWorker(sqliteInbox(options), {
      "*": (_, { tx }) => expectTypeOf(tx).toEqualTypeOf<SqliteTransaction>(),
    });
  });

  test("which returns nothing from a write, and rows from a read", () => {
    const handlers: Handlers<EsimEvents, SqliteTransaction> = {
      "esim.enabled": latestOnly({ state: "profile" }, async ({ data }, { tx }) => {
        const sql = "insert into orders values (?)";
        expectTypeOf(
          tx.write({ sql, parameters: [data.esimReference] }, { changes: 1 }),
        ).toEqualTypeOf<void>();
        const rows = await tx.read<{ n: number }>("select count(*) as n from orders");
        expectTypeOf(rows).toEqualTypeOf<readonly { n: number }[]>();
        const plain = await tx.read("select 1");
        expectTypeOf(plain).toEqualTypeOf<readonly Readonly<Record<string, SqliteValue>>[]>();
        // @ts-expect-error SQLite has no booleans
        tx.write({ sql, parameters: [true] });
      }),
    };
    webhookHandler(handlers, { store: sqliteStore(options) });
  });
});
