// A worker process for tests: handles the jobs of REDIS_URL until it is stopped or killed. Says when a handler starts, and
// when Redis has answered that a job is completed; without a buffer, so that a kill loses no line.
import { writeSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { bullmqProcessor } from "@esim-webhooks/queue-bullmq";
import { Worker } from "bullmq";

const say = (line: string) => writeSync(1, `${line}\n`);

const processor = bullmqProcessor({
  "*": async ({ id }, { attempt }) => {
    say(`starts ${id} ${attempt}`);
    if (id === process.env["HELD"] && attempt === 1) await new Promise(() => {}); // until a kill
    await pause(Math.random() * Number(process.env["HANDLER_MS"]));
  },
});
const worker = new Worker<{ id: string }>(process.env["QUEUE"] ?? "events", processor, {
  connection: { url: process.env["REDIS_URL"] ?? "", maxRetriesPerRequest: null },
  concurrency: Number(process.env["CONCURRENCY"]),
  maxStalledCount: 1000,
  lockDuration: Number(process.env["LOCK_MS"]),
  stalledInterval: 1000,
});
worker.on("completed", ({ data }) => say(`completed ${data.id}`));
worker.on("error", () => {}); // Redis is down
await worker.waitUntilReady();
say("working");
process.once("SIGTERM", () => void worker.close());
