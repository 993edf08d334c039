import type { EsimEvents } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";

export interface RecordOptions {
  readonly type?: keyof EsimEvents;
  readonly status?: string;
  readonly at?: Date;
}

/** A record of the deliveries listing, on one line. */
export function deliveryRecord(
  id: string,
  { type = "esim.enabled", status = "exhausted", at = new Date("2026-11-18T10:00:00Z") }: RecordOptions = {},
): string {
  const sentAt = at.toISOString();
  return `${JSON.stringify({
    eventType: type,
    eventId: id,
    payload: { type, timestamp: sentAt, data: sampleData(type) },
    responseBody: null,
    status,
    attemptNumber: 10,
    httpStatus: 503,
    nextRetryAt: null,
    sentAt,
    deliveredAt: null,
  })}\n`;
}

/** This many records, each of another event. */
export function deliveryRecords(count: number): string {
  return Array.from({ length: count }, (_, n) => deliveryRecord(`evt_${n}`)).join("");
}
