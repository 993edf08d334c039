import { postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { expect, it } from "vitest";

const url = "postgres://user:hidden@db.example:6432/shop";

it.each<[string, Parameters<typeof postgresStore>[0], string]>([
  ["a URL", { url, schema: "events" }, "Postgres at db.example:6432/shop, schema events"],
  [
    "a URL of a local socket",
    { url: "postgres:///shop?host=/run/postgresql" },
    "Postgres at /shop, schema esim_webhooks",
  ],
  [
    "a pool with a URL",
    { pool: new pg.Pool({ connectionString: url }) },
    "Postgres at db.example:6432/shop, schema esim_webhooks",
  ],
  [
    "a pool with options",
    {
      pool: new pg.Pool({
        host: "db.example",
        port: 6432,
        database: "shop",
        user: "user",
        password: "hidden",
      }),
    },
    "Postgres at db.example:6432/shop, schema esim_webhooks",
  ],
  [
    "a pool whose URL has a password without a clear end",
    { pool: new pg.Pool({ connectionString: "postgres://user:hid/den@db.example/shop" }) },
    "Postgres, schema esim_webhooks",
  ],
  [
    "a pool with a URL as its host",
    { pool: new pg.Pool({ host: url, port: 6432, database: "shop" }) },
    "Postgres at an address that is a URL, schema esim_webhooks",
  ],
  [
    "a kysely instance",
    {
      kysely: new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url }) }) }),
    },
    "Postgres, by a kysely instance, schema esim_webhooks",
  ],
])("says where its tables are, without user and password: %s", async (_, options, place) => {
  const store = postgresStore(options);
  expect(store.place).toBe(place);
  await store.close();
});
