import type { AddressInfo } from "node:net";
import { createWorker, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { embeddedInbox } from "@esim-webhooks/store-postgres";
import express from "express";

// Postgres in this process: events answered with 202 are in this folder, and outlive the process
const inbox = embeddedInbox({ dataDir: process.env["DATA_DIR"] ?? "./esim-webhooks-data", logger: console });
await inbox.ready(); // throws if another process has the folder open

const app = express();
const router = webhookRouter(inbox, { logger: console });
app.use(router); // before any body parser

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async ({ data }) => console.log(`reordering ${data.esimReference}`),
};
const worker = createWorker(inbox, handlers, {
  leaseMs: 5000, // after a crash, events that were being handled wait this long
  logger: console,
});
const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

await worker.run({ signal: stopping.signal }); // until SIGTERM, after the running handlers have finished
server.close();
await router.close();
await inbox.close();
