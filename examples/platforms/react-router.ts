// app/routes/webhooks.ts of a React Router application in framework mode: a route without a component
import { webhookHandler } from "@esim-webhooks/core";

const esimWebhooks = webhookHandler({
  "esim.faulted": async ({ data }) => console.log(`faulted: ${data.reason}`),
});

export const action = ({ request }: { request: Request }): Promise<Response> => esimWebhooks(request);
