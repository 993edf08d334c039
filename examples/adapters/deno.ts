import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

Deno.serve(
  {
    hostname: "127.0.0.1",
    port: Number(process.env["PORT"] ?? 3000),
    onListen: ({ port }) => console.log(`listening at http://127.0.0.1:${port}`),
  },
  esimWebhooks,
);
