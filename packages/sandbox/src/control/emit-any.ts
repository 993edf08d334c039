import { emitEvent, type NewEvent } from "../webhook/emit.ts";
import { checkEventType } from "../webhook/event-types.ts";
import { chosenClient } from "./chosen-client.ts";
import type { Parts } from "./parts.ts";

/** Emits an event that nothing has caused. Throws `Refused`: `invalid` for an event type that there is not, `not_found` for such a client. */
export function emitAny(
  parts: Parts,
  { clientReference, ...event }: NewEvent & { readonly clientReference?: string | undefined },
): string[] {
  const client = chosenClient(parts, clientReference);
  checkEventType(parts.service, event.type);
  return emitEvent(parts.service, client, event);
}
