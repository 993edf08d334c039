import type { DeliveryFault } from "../base/fault.ts";

/** The body of an event as a fault changes it; unchanged by faults of another kind. */
export function faultedBody(body: string, fault: DeliveryFault | undefined): string {
  if (fault?.kind === "new_field") return withNewField(body);
  if (fault?.kind === "other_shape") return withOtherShape(body, fault);
  return fault?.kind === "new_reason" ? withNewReason(body) : body;
}

/** The body with fields that are in no schema, in the envelope and in its data. */
function withNewField(body: string): string {
  const event = JSON.parse(body) as { data: object };
  return JSON.stringify({ ...event, data: { ...event.data, newField: { since: "3.9.0" } }, newField: true });
}

/** The body with an unknown reason, if it has a reason. */
function withNewReason(body: string): string {
  const event = JSON.parse(body) as { data: object };
  if (!("reason" in event.data)) return body;
  return JSON.stringify({ ...event, data: { ...event.data, reason: "unheard_of" } });
}

/** The body with some fields of its data set, and some left out. */
function withOtherShape(
  body: string,
  { set, unset }: Extract<DeliveryFault, { readonly kind: "other_shape" }>,
): string {
  const event = JSON.parse(body) as { data: object };
  const data = Object.entries({ ...event.data, ...set }).filter(([field]) => !unset.includes(field));
  return JSON.stringify({ ...event, data: Object.fromEntries(data) });
}
