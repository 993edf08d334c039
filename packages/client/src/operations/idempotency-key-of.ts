import { createHash } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";

/**
 * The idempotency key of what a handler does about an event: the same for every delivery and every run of it, so that the
 * service does it once. The body of such a call must depend on the event alone, or the second run is refused with 422
 * (`key_reused`). The service remembers keys for 48 hours: an event that is replayed later has its effect again.
 *
 * Throws `invalid_input` for an event without an id, or an empty purpose.
 * @param purpose what is done, such as `"reorder"`: each operation about an event needs one of its own
 */
export function idempotencyKeyOf(event: { readonly id: string }, purpose: string): string {
  if (typeof event?.id !== "string" || event.id === "" || typeof purpose !== "string" || purpose === "") {
    throw new WebhookError(
      "invalid_input",
      "idempotencyKeyOf: there is no event with an id, or no purpose.",
      'Pass the event of a handler and what is done: idempotencyKeyOf(event, "reorder").',
    );
  }
  return createHash("sha256")
    .update(JSON.stringify([purpose, event.id]))
    .digest("hex");
}
