import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "../base/errors.ts";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";

/** An endpoint, and whether the client has no other one. */
export interface OwnedEndpoint {
  readonly endpoint: WebhookEndpoint;
  readonly isOnly: boolean;
}

/** Finds an endpoint of the client. Rejects with `endpoint_unknown`, which lists those that it has. */
export async function ownedEndpoint(
  api: Pick<ApiClient, "webhooks">,
  reference: string,
  signal: AbortSignal,
): Promise<OwnedEndpoint> {
  const all = await listEndpoints(api, signal);
  const endpoint = endpointIn(all, reference);
  if (endpoint !== undefined) return { endpoint, isOnly: all.length === 1 };
  const names = all.map((one) => JSON.stringify(one.webhookEndpointReference));
  throw new WebhookError<EndpointErrorCode>(
    "endpoint_unknown",
    `The client has no endpoint ${JSON.stringify(reference)}.`,
    names.length === 0 ? "It has none." : `It has ${names.join(", ")}.`,
    { endpoint: reference },
  );
}
