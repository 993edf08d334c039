import type { StoredEvent } from "@esim-webhooks/core";
import { maskEvent, readBody } from "@esim-webhooks/core/internal";
import type { Payload } from "./views.ts";

/** The body with its personal data masked. */
export function maskedPayload(event: StoredEvent): Payload {
  if (event.body === null) return without(event);
  const read = readBody(event.body);
  if (!("json" in read))
    return { kind: "none", why: "The body is not JSON, so it cannot be masked.", isMasked: true };
  return { kind: "json", text: JSON.stringify(maskEvent(read.json)), isMasked: true };
}

/** The body as it was signed. A body that is not UTF-8 as base64. */
export function revealedPayload(event: StoredEvent): Payload {
  if (event.body === null) return without(event);
  const { text, ...read } = readBody(event.body);
  if (text === null)
    return { kind: "text", text: Buffer.from(event.body).toString("base64"), isMasked: false };
  return { kind: "json" in read ? "json" : "text", text, isMasked: false };
}

function without({ state, erasedAt, receivedAt }: StoredEvent): Payload {
  return { kind: "none", why: why() };

  function why(): string {
    if (erasedAt !== null) return "The body was erased.";
    if (state === "dead" || state === "unhandled")
      return "The body was removed when its time had ended (bodyRetentionMs), so the event cannot be retried.";
    if (receivedAt === null) return "The event was handled inline, and only its id is kept.";
    return "The body was removed when the event was done. To keep bodies of done events: keepBodies.";
  }
}
