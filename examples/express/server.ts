import type { AddressInfo } from "node:net";
import { consoleLogger, type EsimEvents, type Handlers, idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

const reorders = new Map<string, string>();
const reorder = async (order: string, key: string) => void reorders.set(key, order); // your own order call: once for a key
const orders = new Map([["730155284096617302", "order-1"]]);

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async (event, context) => {
    const { data } = event;
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const order = orders.get(data.esimReference);
    if (order === undefined) return context.retryLater(30_000); // our own order call has not answered yet
    return reorder(order, idempotencyKeyOf(event, "reorder")); // the same under every id of the event
  },
  "esim.lifecycle.*": ({ type, data }, { logger }) => logger.info({ type }, `now ${data.lifecycleStatus}`),
};

const app = express();
app.use(webhookRouter(handlers, { logger: consoleLogger() })); // before any body parser
app.use(express.json());

app.get("/reorders", (_request, response) => {
  response.json([...reorders.values()]);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
