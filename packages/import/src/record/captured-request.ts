import { isUtf8 } from "node:buffer";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { bodyBytes } from "./captured-body.ts";
import { headersOf } from "./captured-headers.ts";
import { type Fields, isObject, parseNested, type RecordFault } from "./fields.ts";

/** A request that a proxy, a log or a test has captured. Nothing in it is verified yet. */
export interface CapturedRequest {
  /** By name in lower case. Headers that are not text are left out. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The possible bodies, the likeliest first: text can be the body itself, or its base64. */
  readonly bodies: readonly [Uint8Array, ...Uint8Array[]];
  /** The likeliest body as JSON; empty when it is not a JSON object. */
  readonly payload: Fields;
  /** Whether the body was captured as parsed JSON, so that its bytes are a guess. */
  readonly isGuess: boolean;
  /** Null when it was not captured. */
  readonly receivedAt: Date | null;
}

/**
 * Reads the value of a record as a captured request, in the shapes that `readCapturedRequests` lists.
 * @param maxDepth how deeply JSON may be nested in the body
 * @returns the request, or a fault, whose reason does not quote it
 */
export function readCapturedRequest(value: unknown, maxDepth: number): CapturedRequest | RecordFault {
  if (!isObject(value)) return fault("it is not an object");
  const headers = headersOf(value["headers"], maxDepth);
  if (headers === undefined) return fault("its headers are not an object of texts");
  const receivedAt = timeOf(value["receivedAt"]);
  if (typeof receivedAt === "string") return fault(receivedAt);
  const body = bodyBytes(value["body"], value["isBase64Encoded"] === true);
  if (body === undefined) return fault("its body is neither text nor an object");
  const { bytes, payload } = likeliest(body.bytes, maxDepth);
  const bodies = [bytes, ...body.bytes.filter((other) => other !== bytes)] as const;
  return { headers, bodies, payload, isGuess: body.isGuess, receivedAt };
}

const localTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d(\.\d+)?)?$/;

/** The time; null if it is missing; or the reason why it is not a time. */
function timeOf(value: unknown): Date | string | null {
  if (value === undefined || value === null || value === "") return null; // CSV has no null
  const ms = dateTimeMs(value);
  if (!Number.isNaN(ms)) return new Date(ms);
  return typeof value === "string" && localTime.test(value)
    ? 'its receivedAt has no offset, so it would be another time on another machine: end it with "Z" or "+01:00"'
    : 'its receivedAt is not a date-time with its offset, such as "2026-11-20T12:00:00Z"';
}

/** The first bytes that are a JSON object, else the first bytes: the catalog decides what an authentic body is. */
function likeliest(
  bodies: readonly [Uint8Array, ...Uint8Array[]],
  maxDepth: number,
): { readonly bytes: Uint8Array; readonly payload: Fields } {
  for (const bytes of bodies) {
    const parsed = isUtf8(bytes) ? parseNested(Buffer.from(bytes).toString("utf8"), maxDepth) : undefined;
    if (parsed !== undefined && "json" in parsed && isObject(parsed.json))
      return { bytes, payload: parsed.json };
  }
  return { bytes: bodies[0], payload: {} };
}

function fault(reason: string): RecordFault {
  return { fault: "not_a_record", reason };
}
