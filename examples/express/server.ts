import type { AddressInfo } from "node:net";
import { consoleLogger, type EsimEvents, type Handlers } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

const reorders: string[] = [];
const reorder = async (order: string) => void reorders.push(order); // your own order call
const orders = new Map([["730155284096617302", "order-1"]]);

const handlers: Handlers<EsimEvents> = {
  "esim.faulted": async ({ data }, context) => {
    if (data.reason !== "download_order_expired") return context.discard("the device may still succeed");
    const order = orders.get(data.esimReference);
    if (order === undefined) return context.retryLater(30_000); // our own order call has not answered yet
    return reorder(order);
  },
  "esim.lifecycle.*": ({ type, data }, { logger }) => logger.info({ type }, `now ${data.lifecycleStatus}`),
};

const app = express();
app.use(webhookRouter(handlers, { logger: consoleLogger() })); // before any body parser
app.use(express.json());

app.get("/reorders", (_request, response) => {
  response.json(reorders);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
server.once("listening", () => {
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
