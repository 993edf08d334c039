import type { AddressInfo } from "node:net";
import { consoleLogger, type InboxEntry } from "@esim-webhooks/core";
import { type EncodedEntry, encodeEntry } from "@esim-webhooks/core/engine";
import { webhookRouter } from "@esim-webhooks/express";
import { Queue } from "bullmq";
import express from "express";

const queue = new Queue<EncodedEntry>(process.env["QUEUE"] ?? "esim-events", {
  connection: {
    url: process.env["REDIS_URL"] ?? "redis://localhost:6379",
    enableOfflineQueue: false, // without Redis put() rejects immediately: the sender gets 503 and tries again
  },
  defaultJobOptions: {
    attempts: 16, // over nine hours; then it remains a failed job
    backoff: { type: "exponential", delay: 1000 },
    removeOnComplete: true,
  },
});
queue.on("error", (error) => console.error(error.message));
await queue.waitUntilReady();

/** Adds every delivery as a job, redeliveries too: the worker deduplicates. */
async function put(entries: readonly InboxEntry[]): Promise<"stored"[]> {
  await queue.addBulk(entries.map((entry) => ({ name: "delivery", data: encodeEntry(entry) })));
  return entries.map(() => "stored");
}

const app = express();
const router = webhookRouter({ put }, { logger: consoleLogger() });
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
  await router.close(); // deliveries in flight finish, and need the queue
  await queue.close();
});
