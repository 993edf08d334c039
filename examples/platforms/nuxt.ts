// server/routes/webhooks.ts of a Nuxt application, or of Nitro 2: both import the two functions of h3 by themselves
import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

export default defineEventHandler((event) => esimWebhooks(toWebRequest(event)));
