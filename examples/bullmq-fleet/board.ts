import type { AddressInfo } from "node:net";
import { createBullBoard } from "@bull-board/api";
import { BullMQAdapter } from "@bull-board/api/bullMQAdapter";
import { ExpressAdapter } from "@bull-board/express";
import { Queue } from "bullmq";
import express from "express";

const queue = new Queue(process.env["QUEUE"] ?? "esim-webhooks", {
  connection: { url: process.env["REDIS_URL"] ?? "redis://localhost:6379" },
});
queue.on("error", (error) => console.error(error.message));

const board = new ExpressAdapter();
createBullBoard({
  // its delete buttons would also forget the ids: a redelivery would run again
  queues: [new BullMQAdapter(queue, { readOnlyMode: true })],
  serverAdapter: board,
});

const app = express();
app.use(board.getRouter()); // jobs contain personal data: put it behind your own login

const server = app.listen(Number(process.env["PORT"] ?? 3001), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The board cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});

process.once("SIGTERM", async () => {
  server.close();
  await queue.close();
});
