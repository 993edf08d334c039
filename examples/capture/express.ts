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
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
