import { findClient } from "../account/clients.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { emitEvent, type NewEvent } from "../webhook/emit.ts";
import { deleteEndpoint, type EndpointRecord, setActive } from "../webhook/endpoints.ts";
import { checkEventType } from "../webhook/event-types.ts";
import type { Parts } from "./parts.ts";

/** The client that an operation is for: the one that it names, else the one that every sandbox has. Throws `Refused("not_found")`. */
export function chosenClient({ service, clientReference }: Parts, named = clientReference): string {
  return findClient(service, named).clientReference;
}

/** Sets an endpoint of any client active or inactive. Throws `Refused("not_found")`. */
export function setAnyActive(service: Service, reference: string, active: boolean): EndpointRecord {
  return setActive(service, clientOf(service, reference), reference, active);
}

/** Deletes an endpoint of any client. Throws `Refused("not_found")`. */
export function deleteAny(service: Service, reference: string): EndpointRecord {
  return deleteEndpoint(service, clientOf(service, reference), reference);
}

function clientOf({ db }: Service, webhookEndpointReference: string): string {
  const row = db.get<{ clientReference: string }>(
    "select clientReference from endpoints where webhookEndpointReference = ?",
    webhookEndpointReference,
  );
  if (row !== undefined) return row.clientReference;
  throw new Refused(
    "not_found",
    `There is no webhook endpoint ${webhookEndpointReference}. List the endpoints to see which there are.`,
  );
}

/** Emits an event that nothing has caused. Throws `Refused`: `invalid` for an event type that does not exist, `not_found` for a client that does not. */
export function emitAny(
  parts: Parts,
  { clientReference, ...event }: NewEvent & { readonly clientReference?: string | undefined },
): string[] {
  const client = chosenClient(parts, clientReference);
  checkEventType(parts.service, event.type);
  return emitEvent(parts.service, client, event);
}
