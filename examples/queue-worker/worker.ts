import {
  consoleLogger,
  createProcessor,
  type EsimEvents,
  esimCatalog,
  type Handlers,
  idempotencyKeyOf,
} from "@esim-webhooks/core";
import { decodeEntry, type EncodedEntry } from "@esim-webhooks/core/engine";
import { redisStore } from "@esim-webhooks/store-redis";
import { DelayedError, type Job, UnrecoverableError, Worker } from "bullmq";

const logger = consoleLogger();

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const key = idempotencyKeyOf(event, "reorder"); // for your own order call, which orders once for a key
    return console.log(`reordering ${data.esimReference}, key ${key}`);
  },
};

const url = process.env["REDIS_URL"] ?? "redis://localhost:6379";
const store = redisStore(url, { logger });
await store.ready();
const processor = createProcessor(handlers, { store, logger });

/** Processes a job. Returning completes it; after an error, the queue tries it again with backoff. */
async function work(job: Job<EncodedEntry>, token?: string): Promise<string> {
  const { source, id, receivedAt, body } = decodeEntry(job.data);
  const parsed = esimCatalog.parse(id, body);
  const attempt = job.attemptsStarted; // includes attempts that ended with retryLater
  const outcome = await processor.accept(parsed, { source, receivedAt, attempt });
  switch (outcome.code) {
    case "processed":
    case "duplicate":
    case "conflict":
    case "discarded":
    case "unknown_type":
    case "unhandled_type":
      return outcome.code;
    case "retry_later":
      await job.moveToDelayed(Date.now() + outcome.retryAfterMs, token);
      throw new DelayedError();
    case "busy": // another worker is handling it, for that long at most: nothing has failed
      await job.moveToDelayed(Date.now() + Math.min(outcome.retryAfterMs, 5000), token);
      throw new DelayedError();
    case "invalid": // remains a failed job, which can be retried after an upgrade
      throw new UnrecoverableError(`invalid: ${outcome.issues.map(({ path }) => path).join(", ")}`);
    default: // failed, store_unavailable …
      throw new Error(outcome.code, { cause: "error" in outcome ? outcome.error : undefined });
  }
}

const worker = new Worker<EncodedEntry, string>(process.env["QUEUE"] ?? "esim-events", work, {
  connection: { url, maxRetriesPerRequest: null }, // a separate connection, which blocks while it waits for jobs
  concurrency: 20,
  maxStalledCount: 16, // how many crashes of workers a job survives; default 1
});
worker.on("completed", ({ data: { id } }, outcome) => console.log(`${id}: ${outcome}`));
worker.on("failed", (job, error) => console.error(`${job?.data.id}:`, error));
worker.on("error", (error) => console.error(error.message));
await worker.waitUntilReady();
console.log("working");

process.once("SIGTERM", async () => {
  await worker.close(); // running jobs finish, and need the store
  await store.close();
});
