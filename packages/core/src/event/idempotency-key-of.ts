import { createHash } from "node:crypto";
import { WebhookError } from "../base/errors.ts";
import type { WebhookEvent } from "./event.ts";

/**
 * Returns the idempotency key of one operation of a handler on an event: the same for all deliveries of the event, at every endpoint and
 * under every id, and at every run. So the effect happens once, if the other side, or a unique column of your own table, remembers the key.
 *
 * It is a hash of the purpose and of the event's type, timestamp and data: if `data` has changed, the key is another one. Two events with the
 * same type, timestamp and data have the same key: the operation is done once for both. Do not use it to deduplicate deliveries. The partner API
 * remembers keys for 48 hours, and refuses another body with the same key with 422 (`key_reused`): the body must depend only on the event.
 *
 * Throws `invalid_input` for an event without a type or timestamp, or an empty purpose.
 * @param event what the handler got
 * @param purpose the name of the operation, such as `"reorder"`: each operation on an event needs another one
 */
export function idempotencyKeyOf(
  event: Pick<WebhookEvent, "type" | "timestamp" | "data">,
  purpose: string,
): string {
  const { type, timestamp, data } = event ?? {};
  return keyOf("idempotencyKeyOf", { type, timestamp }, purpose, data);
}

/**
 * Returns the idempotency key of one operation on a delivery: the same for all its attempts and every run. The same event has another key at
 * another endpoint, or after a replay under a new id. For events that may be different although their type, timestamp and data are equal;
 * otherwise, use `idempotencyKeyOf`.
 *
 * Throws `invalid_input` for an event without an id, or an empty purpose.
 * @param event what the handler got
 * @param purpose as for `idempotencyKeyOf`
 */
export function idempotencyKeyOfDelivery(event: Pick<WebhookEvent, "id">, purpose: string): string {
  return keyOf("idempotencyKeyOfDelivery", { id: event?.id }, purpose);
}

/** Returns a hash, because ids and data may be longer than a key can be. */
function keyOf(
  caller: string,
  texts: Readonly<Record<string, unknown>>,
  purpose: string,
  ...data: unknown[]
): string {
  for (const [name, text] of Object.entries({ ...texts, purpose })) {
    if (typeof text === "string" && text !== "") continue;
    throw new WebhookError(
      "invalid_input",
      `there is no ${name}.`,
      `Pass the event of a handler and what is done: ${caller}(event, "reorder").`,
      { where: caller },
    );
  }
  const json = JSON.stringify([purpose, ...Object.values(texts), ...data], inOrder);
  return createHash("sha256").update(json).digest("hex");
}

/** Sorts the fields of an object: the sender may write them in any order. */
function inOrder(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
