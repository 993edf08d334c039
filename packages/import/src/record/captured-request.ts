import { isUtf8 } from "node:buffer";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { bodyBytes } from "./captured-body.ts";
import { headersOf } from "./captured-headers.ts";
import { type Fields, isObject, parseNested, type RecordFault } from "./fields.ts";

/** A request as a proxy, a log or a test has written it down. Nothing in it is verified yet. */
export interface CapturedRequest {
  /** By their names in lower case; those that are not text, and not of the signature, are left out. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What the body may have been, the likeliest first: text can be the body itself, or base64 of it. */
  readonly bodies: readonly [Uint8Array, ...Uint8Array[]];
  /** What the likeliest body says; empty where that is no JSON object. */
  readonly payload: Fields;
  /** Whether the body was captured as parsed JSON, so that its bytes are a guess. */
  readonly isGuess: boolean;
  /** Null: that was not captured. */
  readonly receivedAt: Date | null;
}

/**
 * Reads a captured request: an object with `headers` (name → text or a list of texts, or a list of `[name, text]`, or
 * either as JSON text), `body` (text, base64, the bytes as a list of numbers or as `JSON.stringify` writes a Buffer, or
 * parsed JSON), `receivedAt` (a date-time with its offset, RFC 3339) and `isBase64Encoded`, which may be missing.
 * @param maxDepth how deeply JSON may be nested in the body
 * @returns the request, or why it is none; the reason quotes nothing of it
 */
export function readCapturedRequest(value: unknown, maxDepth = 64): CapturedRequest | RecordFault {
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

/** The time, null for none, or what is wrong with it. */
function timeOf(given: unknown): Date | string | null {
  if (given === undefined || given === null || given === "") return null; // CSV has no null
  const ms = dateTimeMs(given);
  if (!Number.isNaN(ms)) return new Date(ms);
  return typeof given === "string" && localTime.test(given)
    ? 'its receivedAt has no offset, so it would be another time on another machine: end it with "Z" or "+01:00"'
    : 'its receivedAt is not a date-time with its offset, such as "2026-11-20T12:00:00Z"';
}

/** The bytes that are an event, if any are; an authentic body that is none is for the catalog to judge. */
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
