import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { deleteEndpoint, type EndpointRecord, setActive } from "../webhook/endpoints.ts";

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
