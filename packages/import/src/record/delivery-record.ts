import type { Replay } from "@esim-webhooks/core";
import { isStorableId } from "@esim-webhooks/core/kit";
import { type DumpedEvent, dumpedEvent } from "./dumped-event.ts";
import { type Fields, isObject, notARecord, parseNested, type RecordFault } from "./fields.ts";

const noId = notARecord("its eventId is not a text");
const unstorableId: RecordFault = {
  fault: "unstorable_id",
  reason: "its eventId is not 1 to 1,024 bytes of text, so no store can hold it",
};
const badPayload = notARecord("its payload is not an object");
const otherType = notARecord("its eventType is not the type in its payload");

/**
 * Reads a record of the deliveries listing: `eventId` is the webhook-id; `payload` is the event, as an object or as JSON text. An
 * `eventType`, if both are there, must be the type of the payload.
 */
export function readDeliveryRecord(fields: Fields, maxDepth: number): DumpedEvent | RecordFault {
  const { eventId, payload } = fields as { readonly eventId?: unknown; readonly payload?: unknown };
  if (typeof eventId !== "string") return noId;
  if (!isStorableId(eventId)) return { ...unstorableId, id: eventId };
  if (typeof payload === "string") {
    const parsed = parseNested(payload, maxDepth);
    if ("fault" in parsed) return { ...parsed, id: eventId };
    return eventIn(parsed.json, eventId, fields);
  }
  return eventIn(payload, eventId, fields);
}

function eventIn(payload: unknown, eventId: string, fields: Fields): DumpedEvent | RecordFault {
  if (!isObject(payload)) return { ...badPayload, id: eventId };
  const event = dumpedEvent(eventId, payload, fields, null);
  const eventType = fields["eventType"] || event.type; // CSV has no null
  return event.type === null || eventType === event.type ? event : { ...otherType, id: eventId };
}

const kept = [
  "eventType",
  "status",
  "attemptNumber",
  "httpStatus",
  "nextRetryAt",
  "sentAt",
  "deliveredAt",
] as const;
const longestText = 256;

/** The fields of a delivery that an inbox keeps. `responseBody` is not one: it is the endpoint's own answer. */
export function provenanceOf(record: Fields): NonNullable<Replay["delivery"]> {
  const provenance: Record<string, string | number | null> = {};
  for (const name of kept) {
    const value = storable(record[name]);
    if (value !== undefined) provenance[name] = value;
  }
  return provenance;
}

function storable(value: unknown): string | number | null | undefined {
  if (value === null || value === "") return null; // CSV has no null
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  return value.slice(0, longestText).toWellFormed().replaceAll("\0", "\uFFFD"); // jsonb accepts neither lone surrogates nor \0
}
