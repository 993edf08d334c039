import type { AddressInfo } from "node:net";
import { consoleLogger } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { openInbox } from "./inbox.ts";

const inbox = openInbox();
await inbox.migrate();

const app = express();
const router = webhookRouter(inbox, { logger: consoleLogger() }); // answers 202 once an event is stored
app.use(router); // before any body parser

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await router.close(); // deliveries in flight finish, and need the inbox
  await inbox.close();
});
