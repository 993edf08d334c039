import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { listEndpoints } from "../base/list-endpoints.ts";

/** The client's endpoints. */
export interface ClientEndpoints {
  readonly all: readonly WebhookEndpoint[];
  /** Those of the URL: active ones first, then the oldest first. */
  readonly ofUrl: readonly WebhookEndpoint[];
}

/** Lists the client's endpoints. Rejects with an `ApiError`. */
export async function endpointsOfUrl(
  api: Pick<ApiClient, "webhooks">,
  url: string,
  signal: AbortSignal | undefined,
): Promise<ClientEndpoints> {
  const all = await listEndpoints(api, signal);
  const ofUrl = all
    .filter((endpoint) => isSameUrl(endpoint.url, url))
    .reverse() // lists are newest first
    .sort((a, b) => Number(b.active) - Number(a.active) || Date.parse(a.createdAt) - Date.parse(b.createdAt));
  return { all, ofUrl };
}

/** Whether two URLs are one, however they are spelt: the service may keep the spelling, or not. */
export function isSameUrl(one: string, other: string): boolean {
  return plainUrl(one) === plainUrl(other);
}

function plainUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}
