import type { AddressInfo } from "node:net";
import { consoleLogger, type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { redisStore } from "@esim-webhooks/store-redis";
import express from "express";

const logger = consoleLogger();

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // for your own order call, which orders once for a key
    return console.log(`reordering ${data.esimReference}, key ${key}`);
  },
};

// an event that one process has done does not run in another
const store = redisStore(process.env["REDIS_URL"] ?? "redis://localhost:6379", { logger });
await store.ready(); // throws if Redis is unavailable or may evict keys

const app = express();
const router = webhookRouter(handlers, { store, logger });
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
  await router.close(); // deliveries in flight finish, and need the store
  await store.close();
});
