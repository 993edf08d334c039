// The same route on esim-webhooks, which can run at the same time as the old one: no id takes effect in both.
import { consoleLogger, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { webhookPlugin } from "@esim-webhooks/fastify";
import { postgresStore } from "@esim-webhooks/store-postgres";
import fastify from "fastify";
import type { Transaction } from "kysely";

interface Database {
  handled: { id: string }; // the table of the old route
  effects: { id: string; route: string };
}

const url = process.env["DATABASE_URL"] ?? "postgres://postgres@localhost:5432/postgres";
const store = postgresStore<Database>({ url });
await store.migrate();

const handlers: Handlers<EsimEvents, Transaction<Database>> = {
  "*": async ({ id }, context) => {
    const noted = await context.tx
      .insertInto("handled")
      .values({ id })
      .onConflict((conflict) => conflict.column("id").doNothing())
      .returning("id")
      .executeTakeFirst();
    if (noted === undefined) return context.discard("handled by the old route");
    return context.tx.insertInto("effects").values({ id, route: "new" }).execute(); // in place of your own effect
  },
};

const app = fastify();
await app.register(webhookPlugin, { handlers, store, logger: consoleLogger() });

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
});
