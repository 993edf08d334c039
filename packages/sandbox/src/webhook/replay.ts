import { type Time, timeMs } from "../base/clock.ts";
import { newEventId } from "../base/random.ts";
import { Refused } from "../base/refused.ts";
import type { Service } from "../base/service.ts";
import { addDelivery, retentionMs } from "./deliveries.ts";
import { endpointSequence } from "./endpoints.ts";

/** Selects the events that support is to send again. Without a choice: all that are kept. */
export interface Replay {
  /** Ids of deliveries or of events. */
  readonly ids?: readonly string[] | undefined;
  /** Only events that were emitted at this time or later. Default: 7 days ago. */
  readonly since?: Time | undefined;
  /** Only events that were emitted at this time or earlier. Default: now. */
  readonly until?: Time | undefined;
  /** Only to this endpoint. Default: to every endpoint of the client. */
  readonly webhookEndpointReference?: string | undefined;
  /** Whether the events are sent under the ids that they had, or under new ones. Default "same". */
  readonly under?: "same" | "new" | undefined;
}

interface Again {
  readonly event: number;
  readonly endpoint: number;
  readonly eventId: string;
  /** The id under which the endpoint knows the event; null if it has no delivery of the event, for example because it was inactive. */
  readonly deliveredAs: string | null;
  /** The body for the endpoint as a fault changed it; null: unchanged. */
  readonly faultedBody: string | null;
}

/**
 * Sends events of the last 7 days again, to the endpoints that are active and subscribed now: each is a new delivery, due immediately, with
 * the body that the endpoint knows. Returns their ids. Throws `not_found` for an endpoint that the client does not have, and for an id that
 * no kept event or delivery has.
 */
export function replay(service: Service, clientReference: string, choice: Replay = {}): string[] {
  const replayed = service.db.transaction(() => {
    const { webhookEndpointReference } = choice;
    if (webhookEndpointReference !== undefined)
      endpointSequence(service, clientReference, webhookEndpointReference); // throws
    if (choice.ids !== undefined) checkIds(service, clientReference, choice.ids);
    const idOf = choice.under === "new" ? newIds(service) : sameIds(service);
    return selected(service, clientReference, choice).map((again) => {
      const eventId = idOf(again);
      addDelivery(service, { ...again, eventId });
      return eventId;
    });
  });
  if (replayed.length > 0) service.onDue();
  return replayed;
}

function selected({ db, clock }: Service, clientReference: string, choice: Replay): Again[] {
  const kept = clock.now() - retentionMs;
  const ids = choice.ids === undefined ? null : JSON.stringify(choice.ids);
  const reference = choice.webhookEndpointReference ?? null;
  return db.all<Again>(
    `select * from (
       select events.sequence as event, endpoints.sequence as endpoint, events.eventId,
         first.eventId as deliveredAs, first.faultedBody
       from events join endpoints using (clientReference)
         left join deliveries as first on first.sequence = (select min(sequence) from deliveries
           where eventSequence = events.sequence and endpointSequence = endpoints.sequence)
       where clientReference = ? and events.createdAt between ? and ? and active = 1
         and exists (select 1 from json_each(eventTypesJson) where value = eventType)
         and eventType not in (select eventType from eventTypes where retired = 1)
         and (? is null or webhookEndpointReference = ?))
     where ? is null or eventId in (select value from json_each(?)) or deliveredAs in (select value from json_each(?))
     order by event, endpoint`,
    clientReference,
    Math.max(timeMs(choice.since ?? kept), kept),
    timeMs(choice.until ?? clock.now()),
    reference,
    reference,
    ids,
    ids,
    ids,
  );
}

function sameIds({ switches }: Service): (again: Again) => string {
  return ({ deliveredAs, eventId }) => deliveredAs ?? (switches.idPer === "event" ? eventId : newEventId());
}

function newIds({ switches }: Service): (again: Again) => string {
  const ofEvent = new Map<number, string>();
  return ({ event }) => {
    const id = ofEvent.get(event) ?? newEventId();
    if (switches.idPer === "event") ofEvent.set(event, id);
    return id;
  };
}

function checkIds({ db, clock }: Service, clientReference: string, ids: readonly string[]): void {
  const missing = db.get<{ id: string }>(
    `select value as id from json_each(?3) where value not in (
       select eventId from events where clientReference = ?1 and createdAt >= ?2
       union select deliveries.eventId from deliveries join events on events.sequence = eventSequence
         where clientReference = ?1 and events.createdAt >= ?2) limit 1`,
    clientReference,
    clock.now() - retentionMs,
    JSON.stringify(ids),
  );
  if (missing === undefined) return;
  throw new Refused(
    "not_found",
    `The client has no event ${missing.id} of the last 7 days. Take ids from the deliveries listing.`,
  );
}
