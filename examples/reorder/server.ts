// Orders a replacement for a dead download order: once for each event, under whichever ids it arrives, even if this process ends in the middle.
// Needs ESIM_WEBHOOK_SECRET, ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "@esim-webhooks/client";
import {
  consoleLogger,
  type EsimEvents,
  type Handlers,
  idempotencyKeyOf,
  nodeHandler,
} from "@esim-webhooks/core";
import { type SqliteTransaction, sqliteStore } from "@esim-webhooks/store-sqlite";

const path = process.env["DATABASE"] ?? "orders.db";
const store = sqliteStore({ path, logger: consoleLogger() });
await store.ready(); // throws if the file cannot be used
const db = new DatabaseSync(path, { timeout: 5000 }); // the same file, with your own table
db.exec("create table if not exists replacement (key text primary key)");
db.close();

const api = createClient();

const handlers: Handlers<EsimEvents, SqliteTransaction> = {
  "esim.faulted": async (event, { signal, tx }) => {
    if (event.data.reason !== "download_order_expired") return; // the device may try again
    const key = idempotencyKeyOf(event, "reorder");
    const [before] = await tx.read("select key from replacement where key = ?", [key]);
    if (before !== undefined) return; // under another id, perhaps days ago
    await api.esims.order({ esimVariant: "standard" }, { idempotencyKey: key, signal }); // the service knows the key for 48 hours
    tx.write({ sql: "insert into replacement values (?) on conflict do nothing", parameters: [key] });
    console.log("Replaced the eSIM of event", event.id);
  },
};

const receive = nodeHandler(handlers, { store });
const server = createServer(receive).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`Listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
server.on("error", (error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
