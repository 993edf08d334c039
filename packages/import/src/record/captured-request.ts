import { isUtf8 } from "node:buffer";
import { dateTimeMs, headerReader, idPattern } from "@esim-webhooks/core/kit";
import {
  type CapturedRequest,
  type DumpedEvent,
  dumpedEvent,
  type Envelope,
  type Fields,
  isObject,
  parseNested,
  type RecordFault,
} from "./dumped-event.ts";

/** A request that a proxy captured: `headers`, `body` as text, base64 or an object, `receivedAt`. */
export function readCapturedRequest(fields: Fields, maxDepth: number): DumpedEvent | RecordFault {
  const headers = headersOf(fields["headers"], maxDepth);
  if (headers === undefined) return fault("its headers are not an object of texts");
  const receivedAtMs = dateTimeMs(fields["receivedAt"]);
  if (Number.isNaN(receivedAtMs)) return fault("its receivedAt is not a date-time with its offset");
  const bodies = bodiesOf(fields["body"]);
  if (bodies === undefined) return fault("its body is neither text nor an object");
  const header = headerReader(headers);
  const id = header("webhook-id") ?? "";
  const isSigned = header("webhook-signature") !== undefined;
  if (!isSigned && !idPattern.test(id)) {
    return fault("it has neither a signature nor a webhook-id of 1 to 512 visible ASCII characters");
  }
  const { bytes, payload } = likeliest(bodies, maxDepth);
  const request: CapturedRequest = {
    headers,
    bodies: [bytes, ...bodies.filter((body) => body !== bytes)],
    isGuess: isObject(fields["body"]) && !isBufferJson(fields["body"]),
    isSigned,
    receivedAt: new Date(receivedAtMs),
  };
  return dumpedEvent(id, payload, null, request);
}

function headersOf(given: unknown, maxDepth: number): CapturedRequest["headers"] | undefined {
  if (typeof given === "string") {
    const parsed = parseNested(given, maxDepth); // a column of CSV
    return "json" in parsed && typeof parsed.json !== "string" ? headersOf(parsed.json, maxDepth) : undefined;
  }
  if (!isObject(given)) return undefined;
  const isText = (value: unknown) => typeof value === "string";
  const entries = Object.entries(given).filter(([name]) => name.toLowerCase().startsWith("webhook-"));
  if (!entries.every(([, value]) => isText(value) || (Array.isArray(value) && value.every(isText))))
    return undefined;
  return Object.fromEntries(entries) as CapturedRequest["headers"];
}

// no blanks at its end: with two parts that may take them, a regular expression tries all ways to share them
const base64 = /^[A-Za-z0-9+/_\s-]+={0,2}$/;

function bodiesOf(body: unknown): readonly Uint8Array[] | undefined {
  if (typeof body === "string") {
    const text = Buffer.from(body, "utf8");
    return base64.test(body.trimEnd()) ? [text, Buffer.from(body, "base64")] : [text];
  }
  if (!isObject(body)) return undefined;
  return [isBufferJson(body) ? Buffer.from(body.data) : Buffer.from(JSON.stringify(body), "utf8")];
}

/** What JSON makes of a Buffer. */
function isBufferJson(body: Fields): body is Fields & { readonly data: readonly number[] } {
  return body["type"] === "Buffer" && Array.isArray(body["data"]);
}

/** The bytes that are an event, if any are; an authentic body that is none is for the catalog to judge. */
function likeliest(
  bodies: readonly Uint8Array[],
  maxDepth: number,
): { readonly bytes: Uint8Array; readonly payload: Envelope } {
  for (const bytes of bodies) {
    const parsed = isUtf8(bytes) ? parseNested(Buffer.from(bytes).toString("utf8"), maxDepth) : undefined;
    if (parsed !== undefined && "json" in parsed && isObject(parsed.json))
      return { bytes, payload: parsed.json };
  }
  return { bytes: bodies[0] ?? new Uint8Array(), payload: {} };
}

function fault(reason: string): RecordFault {
  return { fault: "not_a_record", reason };
}
