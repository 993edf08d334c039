// A route and a queue of your own, as many backends have them: the starting point of docs/own-route.md.
import { createHmac, timingSafeEqual } from "node:crypto";
import type { AddressInfo } from "node:net";
import { Queue, Worker } from "bullmq";
import express from "express";

const connection = { url: process.env["REDIS_URL"] ?? "redis://localhost:6379", maxRetriesPerRequest: null };
const name = process.env["OLD_QUEUE"] ?? "webhooks";
const queue = new Queue(name, { connection });
const key = Buffer.from((process.env["ESIM_WEBHOOK_SECRET"] ?? "").replace("whsec_", ""), "base64");

const app = express();
app.post("/webhooks", express.raw({ type: () => true }), async (request, response) => {
  const id = request.get("webhook-id") ?? "";
  const signed = `${id}.${request.get("webhook-timestamp")}.${request.body}`;
  const expected = Buffer.from(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  const signature = Buffer.from(request.get("webhook-signature") ?? "");
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
    return response.sendStatus(401);
  await queue.add("event", JSON.parse(String(request.body)), { jobId: id }); // a job with this id is not added twice
  return response.sendStatus(200);
});

const worker = new Worker(name, async ({ id, data }) => console.log(`old: ${data.type} ${id}`), {
  connection,
  autorun: process.env["PAUSED"] === undefined,
});
const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await worker.close();
  await queue.close();
});
