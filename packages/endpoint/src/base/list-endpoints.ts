import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { checkClient } from "./options.ts";

/** The endpoint with this reference; undefined if the client has none. */
export function endpointIn(all: readonly WebhookEndpoint[], reference: string): WebhookEndpoint | undefined {
  return all.find(({ webhookEndpointReference }) => webhookEndpointReference === reference);
}

/** All endpoints of the client, in the order of the service, which is not documented. Rejects with an `ApiError`, or `invalid_option` without a client. */
export async function listEndpoints(
  api: Pick<ApiClient, "webhooks">,
  signal?: AbortSignal,
): Promise<WebhookEndpoint[]> {
  checkClient("listEndpoints", api, "webhooks");
  const all: WebhookEndpoint[] = [];
  for await (const endpoint of api.webhooks.list({ limit: 100, signal })) all.push(endpoint);
  return all;
}

/** The client's endpoints. */
export interface ClientEndpoints {
  readonly all: readonly WebhookEndpoint[];
  /** The endpoints of the URL: active before inactive ones, both oldest first. */
  readonly ofUrl: readonly WebhookEndpoint[];
}

/** Lists the client's endpoints, and those of a URL. Rejects with an `ApiError`. */
export async function endpointsOfUrl(
  api: Pick<ApiClient, "webhooks">,
  url: string,
  signal: AbortSignal,
): Promise<ClientEndpoints> {
  const all = await listEndpoints(api, signal);
  const ofUrl = all
    .filter((endpoint) => isSameUrl(endpoint.url, url))
    .reverse() // for endpoints of the same `createdAt`: the service probably lists the newest first
    .sort((a, b) => Number(b.active) - Number(a.active) || Date.parse(a.createdAt) - Date.parse(b.createdAt));
  return { all, ofUrl };
}

/** Whether two URLs are the same once both are normalized: the service may list a URL as registered, or normalized. */
export function isSameUrl(one: string, other: string): boolean {
  return plainUrl(one) === plainUrl(other);
}

function plainUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

/** The host and the path of a URL, for messages: its user, its password and its query may be secret. */
export function shownAddress(url: string): string {
  const { host, pathname } = URL.parse(url) ?? { host: "an unreadable URL", pathname: "" };
  return `${host}${pathname}`;
}
