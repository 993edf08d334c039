// Orders a replacement for a dead download order: once for each event, under every id that it has and whenever this process
// ends. Needs ESIM_WEBHOOK_SECRET, ESIM_API_URL, ESIM_CLIENT_ID and ESIM_CLIENT_SECRET.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, idempotencyKeyOf } from "@esim-webhooks/client";
import { nodeHandler } from "@esim-webhooks/core";

const api = createClient();

const receive = nodeHandler({
  "esim.faulted": async (event, { signal }) => {
    if (event.data.reason !== "download_order_expired") return; // the device may try again
    const idempotencyKey = idempotencyKeyOf(event, "reorder");
    await api.esims.order({ esimVariant: "standard" }, { idempotencyKey, signal });
    console.log("Replaced the eSIM of event", event.id);
  },
});

const server = createServer(receive).listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  console.log(`Listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
