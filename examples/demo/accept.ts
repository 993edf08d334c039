// A process of the demo that stores deliveries in an inbox on disk, and has no worker. It reads the secret from standard input.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { webhookRouter } from "@esim-webhooks/express";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import express from "express";

const inbox = sqliteInbox({ path: process.argv[2] ?? "" });
await inbox.ready();
const app = express();
const server = app.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`);
});
const [secret] = await once(process.stdin, "data");
app.use(webhookRouter(inbox, { secret: String(secret).trim() }));
console.log("ready");
