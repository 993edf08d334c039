import type { WebhookEndpoint } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import { shownAddress } from "../base/list-endpoints.ts";
import { explainChange } from "../change/change-under-way.ts";
import { compareTypes, type EndpointFinding, listed, type WantedTypes } from "./compare-types.ts";

/** The facts about an endpoint. */
export interface Known {
  readonly endpoint: WebhookEndpoint;
  /** All endpoints of its URL. */
  readonly ofUrl: readonly WebhookEndpoint[];
  /** The client's endpoints of other URLs, if this call has registered `endpoint`; otherwise none. The URL of `endpoint` may be mistyped. */
  readonly others: readonly WebhookEndpoint[];
  /** Whether the key store has a secret that is known to be the endpoint's. */
  readonly hasSecret: boolean;
  /** The change under way in the key store. */
  readonly change: KeyRecord["change"];
  readonly wanted: WantedTypes;
  /** The event types of the service. */
  readonly offered: readonly string[];
}

/** Returns the faults of an endpoint. Those of its event types come last. */
export function findingsOf({
  endpoint,
  ofUrl,
  others,
  hasSecret,
  change,
  wanted,
  offered,
}: Known): EndpointFinding[] {
  const { webhookEndpointReference: reference, url, active, eventTypes } = endpoint;
  const findings: EndpointFinding[] = [];
  if (!active) {
    findings.push({
      code: "inactive",
      about: [reference],
      problem: `The endpoint ${reference} is not active: the service sends it nothing.`,
      remedy: "The API cannot activate it. Ask support, or replace it with replaceEndpoint.",
    });
  }
  if (!hasSecret) {
    findings.push({
      code: "no_secret",
      about: [reference],
      problem: `No secret of the key store is known to be that of the endpoint ${reference}, and the service does not show it again: its deliveries may be refused.`,
      remedy: `If you have the secret, put it into the key store with endpoint: ${JSON.stringify(reference)}. Else get another one with rotateSecret.`,
    });
  }
  if (change !== undefined) {
    findings.push({ code: "change_under_way", about: [reference], ...explainChange(change) });
  }
  if (ofUrl.length > 1) {
    const references = ofUrl.map(({ webhookEndpointReference }) => webhookEndpointReference);
    findings.push({
      code: "same_url",
      about: references,
      problem: `The endpoints ${listed(references)} have the same URL (${shownAddress(url)}): events that both are subscribed to come twice, perhaps under two ids.`,
      remedy: "Reconcile the one that is not needed, then delete it: reconcile, then api.webhooks.delete.",
    });
  }
  if (others.length > 0) {
    const count = others.length === 1 ? "1 other" : `${others.length} others`;
    findings.push({
      code: "other_endpoints",
      about: [endpoint, ...others].map(({ webhookEndpointReference }) => webhookEndpointReference),
      problem: `A new endpoint was registered, ${named(endpoint)}. The client also has ${count}: ${listed(others.map(named))}.`,
      remedy: `If the URL is mistyped, delete the new endpoint: api.webhooks.delete(${JSON.stringify(reference)}). If you need all of them, do nothing: this is said only once.`,
    });
  }
  return [...findings, ...compareTypes({ subscribed: eventTypes, wanted, offered })];
}

function named({ webhookEndpointReference, url }: WebhookEndpoint): string {
  return `${webhookEndpointReference} (${shownAddress(url)})`;
}
