import { consoleLogger } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { inbox, keys, state } from "./inbox.ts";
import { monitor } from "./monitor.ts";

const stopping = new AbortController();
process.once("SIGTERM", () => stopping.abort());

const app = express();
const router = webhookRouter(inbox, { secret: keys, logger: consoleLogger() }); // answers 202 once an event is stored
app.use(router); // before any body parser

const stopMonitor = await monitor({ receiver: router, signal: stopping.signal });
const [port, host] = [Number(process.env["PORT"] ?? 3000), process.env["HOST"] ?? "127.0.0.1"];
const server = app.listen(port, host, (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log("receiving");
});

stopping.signal.addEventListener("abort", async () => {
  server.close();
  await router.close(); // deliveries in flight finish, and need the inbox
  await stopMonitor();
  await inbox.close();
  await state.close();
});
