import { type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { postgresStore } from "@esim-webhooks/store-postgres";
import fastify from "fastify";
import { Kysely, PostgresDialect, sql, type Transaction } from "kysely";
import pg from "pg";

interface Database {
  orders: { key: string; esim: string; profile: string };
  stock: { profile: string; available: number };
}

const url = process.env["DATABASE_URL"] || "postgres://postgres@localhost:5432/postgres";
const pool = new pg.Pool({ connectionString: url });
// a restart of Postgres ends its connections; without a listener on each, idle or in use, the process would end too
pool.on("error", (error) => console.error(error.message));
pool.on("connect", (client) => client.on("error", () => {})); // its query rejects with the same error
const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) });
const store = postgresStore<Database>({ pool });
await store.migrate();

// normally part of your own migrations
await sql`create table if not exists orders (key text primary key, esim text, profile text)`.execute(db);
await sql`create table if not exists stock (profile text primary key, available integer)`.execute(db);
await sql`insert into stock values ('4812009377150264', 10) on conflict do nothing`.execute(db);

const handlers: Handlers<EsimEvents, Transaction<Database>> = {
  // both writes commit together with the done mark of the delivery, or not at all
  "esim.faulted": async (event, context) => {
    const { reason, esimReference: esim, profileReference: profile } = event.data;
    if (reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // the same under every id of the event, and another one for other data
    const order = await context.tx
      .insertInto("orders")
      .values({ key, esim, profile })
      .onConflict((conflict) => conflict.column("key").doNothing())
      .returning("key")
      .executeTakeFirst();
    if (order === undefined) return context.discard("ordered before, under another id");
    return context.tx
      .updateTable("stock")
      .set(({ eb }) => ({ available: eb("available", "-", 1) }))
      .where("profile", "=", profile)
      .where("available", ">", 0)
      .returning("available")
      .executeTakeFirstOrThrow(() => new Error(`out of stock: ${profile}`)); // also rolls the order back
  },
};

const app = fastify({ logger: { level: "warn" } });
await app.register(webhookPlugin, { handlers, store });
app.get("/orders", () => db.selectFrom("orders").selectAll().execute());

const address = await app
  .listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) })
  .catch((error: Error) => {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  });
console.log(`listening at ${address}`);

process.once("SIGTERM", async () => {
  await app.close(); // deliveries in flight finish, and need the store
  await store.close();
  await db.destroy();
});
