import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
  routes: { "/webhooks": esimWebhooks },
});
console.log(`listening at http://127.0.0.1:${server.port}`);
