import type { AddressInfo } from "node:net";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

const reorder = async (esimReference: string) => console.log(`reordering ${esimReference}`);

const app = express();
app.use(
  webhookRouter({
    "esim.faulted": async ({ data: { reason, esimReference } }) =>
      reason === "download_order_expired" && reorder(esimReference), // after any other fault, the device may still succeed
  }),
);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) throw error; // the port is taken, say
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
