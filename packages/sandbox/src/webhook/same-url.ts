import type { Service } from "../base/service.ts";

interface Posted {
  readonly url: string;
  readonly eventTypes: readonly string[];
}

/**
 * The client's active endpoints that get one of these event types at this URL: an event that goes to one more endpoint there
 * arrives twice.
 */
export function activeAtUrl({ db }: Service, clientReference: string, { url, eventTypes }: Posted): string[] {
  const { href } = new URL(url);
  return db
    .all<{ webhookEndpointReference: string; url: string; eventTypesJson: string }>(
      "select webhookEndpointReference, url, eventTypesJson from endpoints where clientReference = ? and active = 1",
      clientReference,
    )
    .filter((other) => new URL(other.url).href === href)
    .filter((other) =>
      (JSON.parse(other.eventTypesJson) as string[]).some((type) => eventTypes.includes(type)),
    )
    .map(({ webhookEndpointReference }) => webhookEndpointReference);
}
