import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";

/** The endpoint with this reference; undefined if the client has none. */
export function endpointIn(all: readonly WebhookEndpoint[], reference: string): WebhookEndpoint | undefined {
  return all.find(({ webhookEndpointReference }) => webhookEndpointReference === reference);
}

/** All endpoints of the client, the newest first. Rejects with an `ApiError`. */
export async function listEndpoints(
  api: Pick<ApiClient, "webhooks">,
  signal: AbortSignal | undefined,
): Promise<WebhookEndpoint[]> {
  const all: WebhookEndpoint[] = [];
  for await (const endpoint of api.webhooks.list({ limit: 100, signal })) all.push(endpoint);
  return all;
}
