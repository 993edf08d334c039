import { newEventId } from "../base/references.ts";
import type { Service } from "../base/service.ts";

export interface NewEvent {
  readonly type: string;
  readonly data: object;
  /** When it occurred: ms since the Unix epoch. Default: now. */
  readonly timestamp?: number;
}

/**
 * Writes the event, and a delivery to each active endpoint of the client that has subscribed to its type, due at once. Part of
 * the transaction that is open. Returns the ids of the deliveries, which by the switch `idPer: event` are all the same.
 */
export function emitEvent(service: Service, clientReference: string, event: NewEvent): string[] {
  const { db, clock, switches } = service;
  const now = clock.now();
  const timestamp = new Date(event.timestamp ?? now).toISOString();
  const ids = db.transaction(() => {
    const eventId = newEventId();
    const row = db.get<{ sequence: number }>(
      "insert into events (eventId, clientReference, eventType, body, createdAt) values (?, ?, ?, ?, ?) returning sequence",
      eventId,
      clientReference,
      event.type,
      JSON.stringify({ type: event.type, timestamp, data: event.data }),
      now,
    );
    return subscribers(service, clientReference, event.type).map((endpoint) => {
      const deliveryId = switches.idPer === "event" ? eventId : newEventId();
      db.run(
        `insert into deliveries (endpointSequence, eventSequence, eventId, status, dueAt, createdAt)
         values (?, ?, ?, 'pending', ?, ?)`,
        endpoint,
        row?.sequence ?? null,
        deliveryId,
        now,
        now,
      );
      return deliveryId;
    });
  });
  if (ids.length > 0) service.onDue();
  return ids;
}

function subscribers(service: Service, clientReference: string, eventType: string): number[] {
  return service.db
    .all<{ sequence: number }>(
      `select sequence from endpoints where clientReference = ? and active = 1
         and exists (select 1 from json_each(eventTypesJson) where value = ?) order by sequence`,
      clientReference,
      eventType,
    )
    .map(({ sequence }) => sequence);
}
