import * as z from "zod";
import type { Service } from "../base/service.ts";
import { endpointSequence } from "./endpoints.ts";
import { type Page, type PageRequest, pageOf } from "./pagination.ts";

const statuses = ["pending", "sending", "delivered", "failed", "exhausted"] as const;
export type DeliveryStatus = (typeof statuses)[number];

/** A delivery as the API lists it. */
export const deliverySchema = z
  .object({
    eventType: z.string(),
    eventId: z.string().meta({ description: "The webhook-id of every attempt" }),
    payload: z.record(z.string(), z.unknown()).meta({ description: "The body of every attempt" }),
    responseBody: z.string().nullable(),
    status: z.enum(statuses),
    attemptNumber: z.int().meta({ description: "Attempts made so far" }),
    httpStatus: z.int().nullable(),
    nextRetryAt: z.iso.datetime().nullable(),
    sentAt: z.iso.datetime().nullable(),
    deliveredAt: z.iso.datetime().nullable(),
  })
  .meta({ id: "WebhookDelivery" });

export type DeliveryRecord = z.output<typeof deliverySchema>;

export interface DeliveryRow {
  readonly sequence: number;
  readonly eventType: string;
  readonly eventId: string;
  readonly body: string;
  readonly responseBody: string | null;
  readonly status: DeliveryStatus;
  readonly attemptNumber: number;
  readonly httpStatus: number | null;
  readonly dueAt: number | null;
  readonly sentAt: number | null;
  readonly deliveredAt: number | null;
  readonly createdAt: number;
}

export interface NewDelivery {
  /** The `sequence` of the endpoint's row; `event`: of the event's row. */
  readonly endpoint: number;
  readonly event: number;
  /** The `webhook-id`. */
  readonly eventId: string;
  /** The event's body as a fault changed it. Default: unchanged. */
  readonly faultedBody?: string | null;
}

/** Adds a delivery that is due immediately. The caller then calls `service.onDue`. */
export function addDelivery({ db, clock }: Service, delivery: NewDelivery): void {
  const now = clock.now();
  db.run(
    `insert into deliveries (endpointSequence, eventSequence, eventId, faultedBody, status, dueAt, createdAt)
     values (?, ?, ?, ?, 'pending', ?, ?)`,
    delivery.endpoint,
    delivery.event,
    delivery.eventId,
    delivery.faultedBody ?? null,
    now,
    now,
  );
}

/** How far back deliveries are listed, and how long events are kept: ms. */
export const retentionMs: number = 7 * 24 * 60 * 60 * 1000;

/** The deliveries to one endpoint of the last 7 days, newest first by their creation. Throws `not_found`. */
export function listDeliveries(
  service: Service,
  clientReference: string,
  webhookEndpointReference: string,
  page: PageRequest,
): Page<DeliveryRecord> {
  const endpoint = endpointSequence(service, clientReference, webhookEndpointReference);
  const now = service.clock.now();
  return pageOf(
    service,
    webhookEndpointReference,
    page,
    (start, limit) =>
      service.db.all<DeliveryRow>(
        listingSql,
        endpoint,
        now - retentionMs,
        Math.min(now - service.switches.listingLagMs, start.createdAt),
        start.createdAt,
        start.sequence,
        limit,
        start.skip,
      ),
    deliveryRecord,
  );
}

/**
 * The index finds the entries, and only those of the page are read: with the switch `cursor: snapshot`, the last page of a million
 * entries costs as much as the first. The index seeks by the bound on `createdAt`; the pair after it separates entries of the same millisecond.
 */
export const listingSql = `
  with page as (
    select sequence from deliveries
    where endpointSequence = ? and createdAt between ? and ? and (createdAt, sequence) < (?, ?)
    order by createdAt desc, sequence desc limit ? offset ?
  )
  select deliveries.*, events.eventType, coalesce(faultedBody, events.body) as body
  from page join deliveries using (sequence) join events on events.sequence = deliveries.eventSequence
  order by deliveries.createdAt desc, deliveries.sequence desc`;

export function deliveryRecord(row: DeliveryRow): DeliveryRecord {
  return {
    eventType: row.eventType,
    eventId: row.eventId,
    payload: JSON.parse(row.body) as Record<string, unknown>,
    responseBody: row.responseBody,
    status: row.status,
    attemptNumber: row.attemptNumber,
    httpStatus: row.httpStatus,
    nextRetryAt: row.status === "failed" ? dateTime(row.dueAt) : null,
    sentAt: dateTime(row.sentAt),
    deliveredAt: dateTime(row.deliveredAt),
  };
}

/** The eSIM that an event is about, if its data names one. */
export function esimReferenceOf(payload: Readonly<Record<string, unknown>>): string | null {
  const { esimReference } = (payload["data"] ?? {}) as { readonly esimReference?: unknown };
  return typeof esimReference === "string" ? esimReference : null;
}

function dateTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}
