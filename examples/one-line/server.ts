import type { AddressInfo } from "node:net";
import { idempotencyKeyOf } from "@esim-webhooks/core";
import { webhookRouter } from "@esim-webhooks/express";
import express from "express";

/** Your own order call, which orders once for a key. */
const reorder = async (esimReference: string, key: string) =>
  console.log(`reordering ${esimReference}, key ${key}`);

const app = express();
app.use(
  webhookRouter({
    "esim.faulted": async (event) => {
      if (event.data.reason !== "download_order_expired") return; // the device may still succeed
      await reorder(event.data.esimReference, idempotencyKeyOf(event, "reorder"));
    },
  }),
);

const server = app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", (error) => {
  if (error) {
    console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
    process.exit(1);
  }
  console.log(`listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
