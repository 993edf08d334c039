/** The body with fields that are in no schema, in the envelope and in its data. */
export function withNewField(body: string): string {
  const event = JSON.parse(body) as { data: object };
  return JSON.stringify({ ...event, data: { ...event.data, newField: { since: "3.9.0" } }, newField: true });
}

/** The body with a reason that nobody knows, if it has one. */
export function withNewReason(body: string): string {
  const event = JSON.parse(body) as { data: object };
  if (!("reason" in event.data)) return body;
  return JSON.stringify({ ...event, data: { ...event.data, reason: "unheard_of" } });
}
