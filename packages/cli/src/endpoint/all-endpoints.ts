import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";

/** All endpoints of the client, in the order of the service, which is not documented. Rejects with an `ApiError`. */
export async function allEndpoints(api: ApiClient): Promise<readonly WebhookEndpoint[]> {
  const all: WebhookEndpoint[] = [];
  for await (const endpoint of api.webhooks.list({ limit: 100 })) all.push(endpoint);
  return all;
}
