import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { consoleLogger } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { sqliteStore } from "@esim-webhooks/store-sqlite";
import express from "express";
import { esimTable, handlers } from "./state.ts";

const logger = consoleLogger();

const path = process.env["DATABASE"] ?? "esims.db";
const store = sqliteStore({ path, logger });
await store.ready(); // throws if the file cannot be used

const db = new DatabaseSync(path, { timeout: 5000 }); // the same file, with your own table
db.exec(esimTable);

const app = express();
const router = webhookRouter(handlers, { store, logger });
app.use(router); // before any body parser
app.get("/esims/:reference", ({ params }, response) => {
  const esim = db.prepare("select * from esim where reference = ?").get(params.reference);
  response.status(esim ? 200 : 404).json(esim ?? { problem: "no event of this eSIM has arrived yet" });
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
