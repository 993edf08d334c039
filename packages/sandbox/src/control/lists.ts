import type { Service } from "../base/service.ts";
import type { EndedAttempt } from "../sender/sent-requests.ts";
import {
  type DeliveryRecord,
  type DeliveryRow,
  deliveryRecord,
  esimReferenceOf,
} from "../webhook/deliveries.ts";
import {
  type EndpointRecord,
  type EndpointRow,
  type EndpointWithSecret,
  endpointRecord,
} from "../webhook/endpoints.ts";
import { type Page, type PageRequest, pageOf } from "../webhook/pagination.ts";
import type { Parts } from "./parts.ts";

/** An endpoint as the control side shows it: of any client, with its secret. */
export interface ShownEndpoint extends EndpointWithSecret {
  readonly clientReference: string;
  /** The client's other active endpoints that get events of this one at the same URL, which gets each several times. Empty if this one is inactive. */
  readonly sameUrl: readonly string[];
}

/** A delivery as the control side shows it: to any endpoint. */
export interface ShownDelivery extends DeliveryRecord {
  /** The number of the delivery: several deliveries may have one event id. */
  readonly sequence: number;
  readonly webhookEndpointReference: string;
  readonly clientReference: string;
  /** The eSIM that the event is about, if its data names one. */
  readonly esimReference: string | null;
  readonly createdAt: string;
  /** The attempts that have ended, oldest first. Null when they are no longer in memory. */
  readonly attempts: readonly EndedAttempt[] | null;
  /**
   * The request of the latest attempt, in the form of a captured request, so that `esim-webhooks verify` and `import` read it. Null
   * when there was none, and when it is no longer in memory.
   */
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: string | null;
  readonly receivedAt: string | null;
}

/** The endpoints of all clients, newest first. */
export function allEndpoints(service: Service, page: PageRequest): Page<ShownEndpoint> {
  return pageOf(
    service,
    "endpoints of all",
    page,
    (start, limit) =>
      service.db.all<EndpointRow & { readonly clientReference: string }>(
        `select * from endpoints where (createdAt, sequence) < (?, ?) order by createdAt desc, sequence desc limit ? offset ?`,
        start.createdAt,
        start.sequence,
        limit,
        start.skip,
      ),
    (row) => ({
      ...endpointRecord(row),
      signingSecret: row.signingSecret,
      clientReference: row.clientReference,
      sameUrl: sameUrl(service, row.clientReference, endpointRecord(row)),
    }),
  );
}

function sameUrl(service: Service, clientReference: string, endpoint: EndpointRecord): string[] {
  if (!endpoint.active) return [];
  return activeAtUrl(service, clientReference, endpoint).filter(
    (reference) => reference !== endpoint.webhookEndpointReference,
  );
}

/** The deliveries to all endpoints, newest first, however old they are. */
export function allDeliveries({ service, sender }: Parts, page: PageRequest): Page<ShownDelivery> {
  return pageOf(
    service,
    "deliveries of all",
    page,
    (start, limit) =>
      service.db.all<
        DeliveryRow & { readonly webhookEndpointReference: string; readonly clientReference: string }
      >(
        `select deliveries.*, eventType, coalesce(faultedBody, body) as body, webhookEndpointReference, endpoints.clientReference
         from deliveries join events on events.sequence = eventSequence
           join endpoints on endpoints.sequence = endpointSequence
         where deliveries.sequence < ?
         order by deliveries.sequence desc limit ? offset ?`,
        start.sequence,
        limit,
        start.skip,
      ),
    (row) => {
      const record = deliveryRecord(row);
      const sent = sender.sentOf(row.sequence);
      return {
        ...record,
        sequence: row.sequence,
        webhookEndpointReference: row.webhookEndpointReference,
        clientReference: row.clientReference,
        esimReference: esimReferenceOf(record.payload),
        createdAt: new Date(row.createdAt).toISOString(),
        attempts: sent?.attempts ?? (row.attemptNumber === 0 ? [] : null),
        headers: sent?.request.headers ?? null,
        body: sent ? row.body : null,
        receivedAt: sent ? new Date(sent.request.sentAt).toISOString() : null,
      };
    },
  );
}

interface Posted {
  readonly url: string;
  readonly eventTypes: readonly string[];
}

/**
 * The client's active endpoints that get one of these event types at this URL: an event that goes to one more endpoint there
 * arrives twice.
 */
export function activeAtUrl({ db }: Service, clientReference: string, { url, eventTypes }: Posted): string[] {
  const { href } = new URL(url);
  return db
    .all<{ webhookEndpointReference: string; url: string; eventTypesJson: string }>(
      "select webhookEndpointReference, url, eventTypesJson from endpoints where clientReference = ? and active = 1",
      clientReference,
    )
    .filter((other) => new URL(other.url).href === href)
    .filter((other) =>
      (JSON.parse(other.eventTypesJson) as string[]).some((type) => eventTypes.includes(type)),
    )
    .map(({ webhookEndpointReference }) => webhookEndpointReference);
}
