import type { AddressInfo } from "node:net";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";
import { capture } from "./capture.ts";

const app = express();
app.use("/webhooks", (request, response, next) => {
  capture(request, response).then(() => next(), next);
});
app.use(webhookRouter({ "esim.faulted": ({ data }) => console.log(`faulted: ${data.reason}`) }));

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error; // the port is taken, say
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
