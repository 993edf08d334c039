import type { WebhookDelivery } from "@esim-webhooks/client";
import { sign } from "@esim-webhooks/core";
import { idPattern } from "@esim-webhooks/core/kit";
import type { SignedRequest } from "@esim-webhooks/core/testing";

/** The event of a delivery, as the sender would send it now. Undefined if the listing shows no body, or no id that can be sent. */
export function signedDelivery(
  { eventId: id, payload }: WebhookDelivery,
  secret: string | Uint8Array,
): SignedRequest | undefined {
  if (payload === null || id === null || !idPattern.test(id)) return undefined;
  const body = JSON.stringify(payload);
  return {
    method: "POST",
    headers: { "content-type": "application/json", ...sign({ id, body }, secret) },
    body,
  };
}
