import { emitEvent, type NewEvent } from "../webhook/emit.ts";
import { checkEventType } from "../webhook/event-types.ts";
import type { Parts } from "./parts.ts";

/** Emits an event that nothing has caused. Throws `Refused("invalid")` for an event type that there is not. */
export function emitAny(
  { service, clientReference }: Parts,
  {
    clientReference: client = clientReference,
    ...event
  }: NewEvent & { readonly clientReference?: string | undefined },
): string[] {
  checkEventType(service, event.type);
  return emitEvent(service, client, event);
}
