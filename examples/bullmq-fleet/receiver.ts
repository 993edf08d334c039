import type { AddressInfo } from "node:net";
import { consoleLogger } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import express from "express";

const logger = consoleLogger();

const inbox = bullmqInbox({
  connection: process.env["REDIS_URL"] ?? "redis://localhost:6379",
  name: process.env["QUEUE"] ?? "esim-webhooks",
  logger,
});
await inbox.ready(); // refuses a Redis that may evict events

const app = express();
const router = webhookRouter(inbox, { logger });
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
