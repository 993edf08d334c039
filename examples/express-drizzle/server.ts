import type { AddressInfo } from "node:net";
import { consoleLogger, idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { postgresStore } from "@esim-webhooks/store-postgres";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgTable, text } from "drizzle-orm/pg-core";
import { sql } from "drizzle-orm/sql";
import express from "express";
import pg from "pg";

const orders = pgTable("orders", {
  key: text().primaryKey(),
  esim: text().notNull(),
  profile: text().notNull(),
});

const url = process.env["DATABASE_URL"] || "postgres://postgres@localhost:5432/postgres";
const pool = new pg.Pool({ connectionString: url });
pool.on("error", (error) => console.error(error.message));
pool.on("connect", (client) => client.on("error", () => {})); // its query rejects with the same error
const db = drizzle(pool);

// makes context.tx; a handler that does not use it holds no connection
const store = postgresStore({ pool, tx: (client) => drizzle(client) });
await store.migrate();

// normally part of your own migrations
await db.execute(
  sql`create table if not exists orders (key text primary key, esim text not null, profile text not null)`,
);

const router = webhookRouter(
  {
    // the order commits together with the done mark of the delivery, or not at all
    "esim.faulted": async (event, { tx }) => {
      const { reason, esimReference: esim, profileReference: profile } = event.data;
      if (reason !== "download_order_expired") return; // the device may still succeed
      const key = idempotencyKeyOf(event, "reorder"); // the same under every id of the event, and another one for other data
      await tx.insert(orders).values({ key, esim, profile }).onConflictDoNothing();
    },
  },
  { store, logger: consoleLogger() },
);

const app = express();
app.use(router); // before any body parser
app.get("/orders", async (_request, response) => {
  response.json(await db.select().from(orders));
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await router.close(); // deliveries in flight finish, and need the store
  await store.close();
  await pool.end();
});
