// app/webhooks/route.ts of a Next.js application
import { webhookHandler } from "@esim-webhooks/core";

export const POST = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});
