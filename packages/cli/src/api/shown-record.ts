import { maskEvent, maskJson } from "@esim-webhooks/core/kit";
import { masked, maskSecrets, shortened } from "@esim-webhooks/core/masking";

/** What is no personal data in the records of the API that is about the client itself. */
const harmless: ReadonlySet<string> = new Set([
  "clientReference",
  "name",
  "defaultEsimVariant",
  "maxProfiles",
  "esimVariant",
  "description",
  "available",
  "eventType",
  "eventTypes",
  "webhookEndpointReference",
  "url",
  "createdAt",
  "updatedAt",
]);

/** A client, a variant, an event type or an endpoint as JSON. A field that the API has since is masked. */
export function shownRecord(record: object, reveal: boolean): unknown {
  if (reveal) return record;
  return maskJson(record, (value, field) => {
    if (!harmless.has(field)) return masked;
    return typeof value === "string" ? shownText(value, reveal) : value;
  });
}

/** A delivery as JSON. Its event and what the endpoint answered contain personal data. */
export function shownDelivery(delivery: { readonly eventId: string | null }, reveal: boolean): unknown {
  if (reveal) return delivery;
  const { eventId } = delivery;
  return { ...(maskEvent(delivery) as object), eventId: eventId === null ? null : shortened(eventId) };
}

/** A text of a record about the client, such as a URL, which may have a password. */
export function shownText(text: string, reveal: boolean): string {
  return reveal ? text : shortened(maskSecrets(text));
}
