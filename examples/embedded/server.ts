import type { AddressInfo } from "node:net";
import {
  consoleLogger,
  createWorker,
  type EsimEvents,
  type Handlers,
  idempotencyKeyOf,
} from "@esim-webhooks/core";
import { createRunner } from "@esim-webhooks/core/run";
import { webhookRouter } from "@esim-webhooks/express";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import express from "express";

const logger = consoleLogger();

// one SQLite file: an event answered with 202 is on the disk, and other processes on this machine may handle it, too
const inbox = sqliteInbox({ path: `${process.env["DATA_DIR"] ?? "data"}/events.db`, logger });
await inbox.ready(); // throws if the file cannot be used

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

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // for your own order call, which orders once for a key
    return console.log(`reordering ${data.esimReference}, key ${key}`);
  },
};
const worker = createWorker(inbox, handlers, {
  leaseMs: 5000, // after a crash, events that were being handled wait this long
  logger,
});
const runner = createRunner({ receiver: router, worker, inbox, logger });
app.get("/livez", runner.liveness.node).get("/readyz", runner.readiness.node);
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

await runner.run({ signal: stopping.signal, server, close: [inbox] }); // until SIGTERM, after the running handlers have finished
