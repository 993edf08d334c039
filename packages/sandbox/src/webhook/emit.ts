import { type Time, timeMs } from "../base/clock.ts";
import { newEventId } from "../base/random.ts";
import type { Service } from "../base/service.ts";
import { addDelivery } from "./deliveries.ts";

/** An event to send, of any type. */
export interface NewEvent {
  /** The event type. */
  readonly type: string;
  /** Its data. It is sent unchanged. */
  readonly data: object;
  /** When it occurred. Default: now. */
  readonly timestamp?: Time;
}

/**
 * Writes the event, and a delivery, due immediately, for each active endpoint of the client that has subscribed to its type. Joins the
 * transaction that is open, if any. Returns the ids of the deliveries: each has its own, or with the switch `idPer: event` all have the same.
 */
export function emitEvent(service: Service, clientReference: string, newEvent: NewEvent): string[] {
  const { db, clock, switches } = service;
  const now = clock.now();
  const timestamp = new Date(timeMs(newEvent.timestamp ?? now)).toISOString();
  const ids = db.transaction(() => {
    const eventId = newEventId();
    const { sequence: event } = db.get(
      "insert into events (eventId, clientReference, eventType, body, createdAt) values (?, ?, ?, ?, ?) returning sequence",
      eventId,
      clientReference,
      newEvent.type,
      JSON.stringify({ type: newEvent.type, timestamp, data: newEvent.data }),
      now,
    ) as { sequence: number };
    return subscribers(service, clientReference, newEvent.type).map((endpoint) => {
      const deliveryId = switches.idPer === "event" ? eventId : newEventId();
      addDelivery(service, { endpoint, event, eventId: deliveryId });
      return deliveryId;
    });
  });
  if (ids.length > 0) service.onDue();
  return ids;
}

/** Returns the endpoints to deliver to; none for a retired type, since the catalog has every type that can be delivered. */
function subscribers(service: Service, clientReference: string, eventType: string): number[] {
  return service.db
    .all<{ sequence: number }>(
      `select sequence from endpoints where clientReference = ? and active = 1
         and exists (select 1 from json_each(eventTypesJson) where value = ?)
         and ? not in (select eventType from eventTypes where retired = 1)
       order by sequence`,
      clientReference,
      eventType,
      eventType,
    )
    .map(({ sequence }) => sequence);
}
