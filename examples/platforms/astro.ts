// src/pages/webhooks.ts of an Astro application with an adapter, such as @astrojs/node
import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

export const prerender = false;

export const POST = ({ request }: { request: Request }): Promise<Response> => esimWebhooks(request);
