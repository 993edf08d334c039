import { maskEvent, maskJson } from "@esim-webhooks/core/internal";
import { masked, maskSecrets, shortened } from "@esim-webhooks/core/masking";

/** The fields without personal data in records about the client itself. */
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

/** How the records of the API are shown. */
export interface Shown {
  /** A client, a variant, an event type or an endpoint as JSON. */
  record(record: object): unknown;
  /** A delivery as JSON. */
  delivery(delivery: { readonly eventId: string | null }): unknown;
  /** A text of a record about the client. */
  text(text: string): string;
}

/** The records as the flags say: masked, or with --reveal as they are. */
export function shownBy({ reveal }: { readonly reveal?: boolean }): Shown {
  return reveal
    ? { record: (record) => record, delivery: (delivery) => delivery, text: (text) => text }
    : { record: maskedRecord, delivery: maskedDelivery, text: maskedText };
}

/** Masks each field that is not known to be harmless: the API may add new ones. */
export function maskedRecord(record: object): unknown {
  return maskJson(record, (value, field) => {
    if (!harmless.has(field)) return masked;
    return typeof value === "string" ? maskedText(value) : value;
  });
}

/** A delivery without personal data, which its event and the endpoint's answer contain. */
function maskedDelivery(delivery: { readonly eventId: string | null }): unknown {
  const { eventId } = delivery;
  return { ...(maskEvent(delivery) as object), eventId: eventId === null ? null : shortened(eventId) };
}

/** Masks secrets in a text, such as the password in a URL. */
export function maskedText(text: string): string {
  return shortened(maskSecrets(text));
}
