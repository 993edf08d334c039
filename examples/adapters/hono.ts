import type { AddressInfo } from "node:net";
import { webhookHandler } from "@esim-webhooks/core";
import { serve } from "@hono/node-server";
import { Hono } from "hono";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

const app = new Hono();
app.all("/webhooks", (context) => esimWebhooks(context.req.raw));

const server = serve(
  { fetch: app.fetch, hostname: "127.0.0.1", port: Number(process.env["PORT"] ?? 3000) },
  (info: AddressInfo) => {
    console.log(`listening at http://127.0.0.1:${info.port}`);
  },
);
server.on("error", (error) => {
  console.error(`The receiver cannot listen: ${error.message}. Set PORT to a free port.`);
  process.exit(1);
});
