import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { consoleLogger, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { type SqliteTransaction, sqliteStore } from "@esim-webhooks/store-sqlite";
import express from "express";

const logger = consoleLogger();

const path = process.env["DATABASE"] ?? "shop.db";
const store = sqliteStore({ path, logger });
await store.ready(); // throws if the file cannot be used

const db = new DatabaseSync(path, { timeout: 5000 }); // the same file, with your own tables
db.exec("create table if not exists replacements (esim text primary key)");

const handlers: Handlers<EsimEvents, SqliteTransaction> = {
  // the replacement commits together with the done mark of the delivery, or not at all
  "esim.faulted": ({ data }, context) => {
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    return context.tx.write({
      sql: "insert into replacements values (?) on conflict do nothing", // one for each eSIM, under all ids and data of its events: no other key is needed
      parameters: [data.esimReference],
    });
  },
};

const app = express();
const router = webhookRouter(handlers, { store, logger });
app.use(router); // before any body parser
app.get("/replacements", (_request, response) => {
  response.json(db.prepare("select esim from replacements").all());
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
  db.close();
});
