import type { ApiClient, WebhookEndpoint } from "@esim-webhooks/client";
import { WebhookError } from "@esim-webhooks/core";
import type { EndpointErrorCode } from "@esim-webhooks/endpoint";
import { shownText } from "../api/shown-record.ts";
import { printable } from "../program/printable.ts";
import { allEndpoints } from "./all-endpoints.ts";

/**
 * The endpoint that a command is about: the one with this reference, else the client's only endpoint, else `preferred`, if it is one
 * of several. Rejects with `endpoint_unknown`, and a list of the client's endpoints.
 */
export async function theEndpoint(
  api: ApiClient,
  reference: string | undefined,
  preferred?: string,
): Promise<WebhookEndpoint> {
  const all = await allEndpoints(api);
  if (reference !== undefined) {
    const named = all.find(({ webhookEndpointReference }) => webhookEndpointReference === reference);
    if (named !== undefined) return named;
    throw unknown(
      `The client has no endpoint ${printable(reference)}.`,
      `Correct --endpoint. ${listOf(all)}`,
    );
  }
  const [only, another] = all;
  if (only === undefined) {
    throw unknown("The client has no endpoint.", "Register one: esim-webhooks endpoint ensure <url>.");
  }
  if (another === undefined) return only;
  const chosen = all.find(({ webhookEndpointReference }) => webhookEndpointReference === preferred);
  if (chosen !== undefined) return chosen;
  throw unknown(
    `The client has ${all.length} endpoints, so the command needs to know which one.`,
    `Name it with --endpoint. ${listOf(all)}`,
  );
}

/** The error for a command whose endpoint was deleted while it ran; undefined while the endpoint is there, or that is not known. */
export async function goneEndpoint(
  api: ApiClient,
  reference: string,
): Promise<WebhookError<EndpointErrorCode> | undefined> {
  const all = await allEndpoints(api).catch(() => undefined);
  if (all === undefined || all.some(({ webhookEndpointReference }) => webhookEndpointReference === reference))
    return undefined;
  return unknown(
    `The endpoint ${printable(reference)} no longer exists.`,
    `Start the command again, for another one. ${listOf(all).replace("It has", "The client has")}`,
  );
}

function unknown(problem: string, remedy: string): WebhookError<EndpointErrorCode> {
  return new WebhookError<EndpointErrorCode>("endpoint_unknown", problem, remedy);
}

function listOf(endpoints: readonly WebhookEndpoint[]): string {
  if (endpoints.length === 0) return "It has none.";
  const each = endpoints.map(({ webhookEndpointReference, url, active }) => {
    const where = printable(shownText(url, false));
    return `${printable(webhookEndpointReference)} (${where}${active ? "" : ", not active"})`;
  });
  return `It has ${each.join(", ")}.`;
}
