import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { consoleLogger, type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Worker } from "bullmq";

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // for your own order call, which orders once for a key
    return console.log(`reordering ${data.esimReference}, key ${key}`);
  },
};

const processor = bullmqProcessor(handlers, { logger: consoleLogger() });
const worker = new Worker(process.env["QUEUE"] ?? "esim-webhooks", processor, {
  connection: { url: process.env["REDIS_URL"] ?? "redis://localhost:6379", maxRetriesPerRequest: null },
  concurrency: 20,
  maxStalledCount: 16, // how many crashes of workers a job survives; default 1
});
let last = { message: "", at: 0 };
worker.on("error", ({ message }) => {
  if (message === last.message && Date.now() - last.at < 60_000) return; // BullMQ emits it at each try: thousands a second, if Redis refuses
  console.error(message);
  last = { message, at: Date.now() };
});
worker.getBackend().on("ready", () => {
  if (last.message !== "") console.log("Redis answers again");
  last = { message: "", at: 0 };
});
worker.on("failed", processor.onFailed); // logs events whose workers died too often
worker.on("lockRenewalFailed", (ids) => ids.forEach((id) => void worker.cancelJob(id))); // another worker has them now
await worker.waitUntilReady();

/** For the orchestrator: when the last take is old while events wait, restart this process. */
const health = createServer((_, response) => {
  response.end(JSON.stringify({ sinceLastTakeMs: processor.sinceLastTakeMs() }));
});
health.on("error", (error) => {
  console.error(`The worker cannot listen: ${error.message}. Set HEALTH_PORT to a free port.`);
  process.exit(1);
});
health.listen(Number(process.env["HEALTH_PORT"] ?? 0), "127.0.0.1", () => {
  console.log(`working; health at http://127.0.0.1:${(health.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  health.close();
  await worker.close(); // handlers that run finish
});
