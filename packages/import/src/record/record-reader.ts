import { headerReader, headerText, isStorableId } from "@esim-webhooks/core/internal";
import { headersOf, readCapturedRequest } from "./captured-request.ts";
import {
  type Fields,
  isObject,
  notARecord,
  parseNested,
  type RecordedEvent,
  type RecordFault,
  recordedEvent,
} from "./recorded-event.ts";

/** Reads the event that a record of a dump contains. */
export type RecordReader = (value: unknown) => RecordedEvent | RecordFault;

const neither = notARecord(
  "it is neither a delivery (eventId, payload) nor a captured request (headers, body, receivedAt)",
);

export function createRecordReader(mapping: Mapping | undefined, maxDepth: number): RecordReader {
  const fieldsOf = mapping && createMapper(mapping);
  return (value) => {
    if (!isObject(value)) return neither;
    const fields = fieldsOf === undefined ? value : fieldsOf(value);
    const isDelivery = fields["eventId"] !== undefined && fields["payload"] !== undefined;
    const isCaptured = fields["headers"] !== undefined && fields["body"] !== undefined;
    if (isCaptured && (!isDelivery || isSigned(fields, maxDepth))) return readCapturedEvent(fields, maxDepth);
    return isDelivery ? readDeliveryRecord(fields, maxDepth) : neither;
  };
}

/**
 * Whether the record has a signature to verify. It is then read as a captured request, even if it is also a delivery record. Headers
 * that cannot be read may contain a signature: they make the record invalid, never unsigned.
 */
function isSigned(fields: Fields, maxDepth: number): boolean {
  const { headers: value } = fields as { readonly headers?: unknown };
  if (value === null || value === "") return false; // CSV has no null
  const headers = headersOf(value, maxDepth);
  return headers === undefined || headers["webhook-signature"] !== undefined;
}

/** Reads the event of a captured request. The request must have a `receivedAt`. */
function readCapturedEvent(fields: Fields, maxDepth: number): RecordedEvent | RecordFault {
  const request = readCapturedRequest(fields, maxDepth);
  if ("fault" in request) return request;
  const { headers, payload, receivedAt } = request;
  if (receivedAt === null) return notARecord("it has no receivedAt: the date-time at which it was received");
  const header = headerReader(headers);
  const id = headerText(header("webhook-id") ?? "");
  const isSigned = header("webhook-signature") !== undefined;
  if (!isSigned && !isStorableId(id)) {
    return notARecord("it has neither a signature nor a webhook-id of 1 to 1,024 bytes");
  }
  return recordedEvent(id, payload, null, { ...request, receivedAt, isSigned });
}

const noId = notARecord("its eventId is not a text");
const unstorableId: RecordFault = {
  fault: "unstorable_id",
  reason: "its eventId is not 1 to 1,024 bytes of text, so no store can hold it",
};
const badPayload = notARecord("its payload is not an object");
const otherType = notARecord("its eventType is not the type in its payload");

/**
 * Reads a record of the deliveries listing: `eventId` is the webhook-id; `payload` is the event, as an object or as JSON text. If
 * both have a type, `eventType` must be that of the payload.
 */
function readDeliveryRecord(fields: Fields, maxDepth: number): RecordedEvent | RecordFault {
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

function eventIn(payload: unknown, eventId: string, fields: Fields): RecordedEvent | RecordFault {
  if (!isObject(payload)) return { ...badPayload, id: eventId };
  const event = recordedEvent(eventId, payload, fields, null);
  const eventType = fields["eventType"] || event.type; // CSV has no null
  return event.type === null || eventType === event.type ? event : { ...otherType, id: eventId };
}

/** Our field → its place in records of another shape: a dotted path such as `"message.id"`. */
export type Mapping = Readonly<Record<string, string>>;

/** The fields that can be mapped: those of a record of the deliveries listing, or of a captured request. */
export const mappable: readonly string[] = [
  "eventId",
  "eventType",
  "payload",
  "status",
  "attemptNumber",
  "httpStatus",
  "nextRetryAt",
  "sentAt",
  "deliveredAt",
  "headers",
  "body",
  "receivedAt",
];

/** Finds our fields in records of another shape. It reads own properties only, so no path leads to a prototype. */
function createMapper(mapping: Mapping): (value: unknown) => Fields {
  const paths = Object.entries(mapping);
  return (value) => Object.fromEntries(paths.map(([field, path]) => [field, valueAt(value, path)]));
}

function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Object.hasOwn(value, path)) return (value as Fields)[path]; // a column may be named "message.id"
  const dot = path.indexOf(".");
  const head = path.slice(0, dot);
  if (dot === -1 || !Object.hasOwn(value, head)) return undefined;
  return valueAt((value as Fields)[head], path.slice(dot + 1));
}
