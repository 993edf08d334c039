// src/routes/webhooks/+server.ts of a SvelteKit application. With adapter-node, set BODY_SIZE_LIMIT=2M: it answers 413 to more than
// 512 kB, and the sender does not try again after a 413.
import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

export const POST = ({ request }: { request: Request }): Promise<Response> => esimWebhooks(request);
