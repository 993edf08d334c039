import type { AddressInfo } from "node:net";
import type { InboxEntry } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import { Queue } from "bullmq";
import express from "express";

/** What crosses the queue: JSON, so the bytes go as base64. */
export type QueuedDelivery = { source: string; id: string; receivedAt: string; body: string };

const queue = new Queue<QueuedDelivery>(process.env["QUEUE"] ?? "esim-events", {
  connection: {
    url: process.env["REDIS_URL"] ?? "redis://localhost:6379",
    enableOfflineQueue: false, // without Redis put() rejects at once: 503, and the sender tries again
  },
  defaultJobOptions: {
    attempts: 16, // for nine hours; then it stays among the failed jobs
    backoff: { type: "exponential", delay: 1000 },
    removeOnComplete: true,
  },
});
queue.on("error", (error) => console.error(error.message));
await queue.waitUntilReady();

/** Every delivery becomes a job, redeliveries too: the worker deduplicates. */
async function put(entries: readonly InboxEntry[]): Promise<"stored"[]> {
  await queue.addBulk(
    entries.map(({ source, id, receivedAt, body }) => ({
      name: "delivery",
      data: { source, id, receivedAt: receivedAt.toISOString(), body: Buffer.from(body).toString("base64") },
    })),
  );
  return entries.map(() => "stored");
}

const app = express();
const router = webhookRouter({ put }, { logger: console });
app.use(router); // before any body parser

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await router.close(); // deliveries in flight finish, and need the queue
  await queue.close();
});
