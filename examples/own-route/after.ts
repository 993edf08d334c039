// The same backend on esim-webhooks, with the same path and the same secret. An event that the old route has stored does not run twice.
import type { AddressInfo } from "node:net";
import { consoleLogger, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { bullmqInbox, bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Queue, Worker } from "bullmq";
import express from "express";

const logger = consoleLogger();
const url = process.env["REDIS_URL"] ?? "redis://localhost:6379";
const name = process.env["QUEUE"] ?? "esim-webhooks"; // another queue than the old one
const connection = { url, maxRetriesPerRequest: null };

const handlers: Handlers<EsimEvents> = {
  "*": ({ type, id }) => console.log(`new: ${type} ${id}`),
};

const inbox = bullmqInbox({ connection: url, name, logger });
await inbox.ready();
const app = express();
const router = webhookRouter(inbox, { logger });
app.use(router); // before any body parser, in place of the old route

const old = new Queue(process.env["OLD_QUEUE"] ?? "webhooks", { connection });
/** Whether the old worker has handled this delivery, or will. A failed job is handled here. */
async function belongsToOldRoute(id: string): Promise<boolean> {
  const state = await old.getJobState(id);
  return state !== "unknown" && state !== "failed";
}
const processor = bullmqProcessor(handlers, { logger });
const worker = new Worker(
  name,
  async (job, token, signal) =>
    (await belongsToOldRoute(job.data.id)) ? { outcome: "duplicate" } : processor(job, token, signal),
  { connection, maxStalledCount: 16 },
);
worker.on("error", (error) => console.error(error.message));
worker.on("failed", processor.onFailed);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await router.close();
  await worker.close();
  await Promise.all([inbox.close(), old.close()]);
});
