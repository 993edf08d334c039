import { dateTimeMs } from "@esim-webhooks/core/internal";
import type { FaultCode } from "../dump/record.ts";

/** The fields of a record, not checked yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** Why a record contains no event. The reason does not quote the record. */
export interface RecordFault {
  /** The code of the fault. Stable, for programs. */
  readonly fault: FaultCode;
  /** The problem, for people. */
  readonly reason: string;
  /** The webhook-id, if it can be read despite the fault. */
  readonly id?: string;
}

/** A request that a proxy, a log or a test has captured. Nothing in it is verified yet. */
export interface CapturedRequest {
  /** By name in lower case. Headers that are not text are left out. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The possible bodies, the likeliest first: text can be the body itself, or its base64. */
  readonly bodies: readonly [Uint8Array, ...Uint8Array[]];
  /** The likeliest body as JSON; empty when it is not a JSON object. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** Whether the body was captured as parsed JSON, so that its bytes are a guess. */
  readonly isGuess: boolean;
  /** Null when it was not captured. */
  readonly receivedAt: Date | null;
}

/** A captured request with its time of receipt. Its signature, if it has one, is not verified yet. */
export interface ReceivedRequest extends CapturedRequest {
  readonly isSigned: boolean;
  readonly receivedAt: Date;
}

/** The event in a record: recognised, but neither filtered nor verified yet. */
export interface RecordedEvent {
  readonly id: string;
  /** The type in the body; null when the body has none. */
  readonly type: string | null;
  /** When it occurred, in ms since the Unix epoch; NaN without a valid timestamp. */
  readonly occurredMs: number;
  readonly payload: Fields;
  /** The delivery record that contains it, if one does. */
  readonly delivery: Fields | null;
  /** The captured request that contains it, if one does. */
  readonly request: ReceivedRequest | null;
}

export function recordedEvent(
  id: string,
  payload: Fields,
  delivery: Fields | null,
  request: ReceivedRequest | null,
): RecordedEvent {
  const { type, timestamp } = payload;
  return {
    id,
    type: typeof type === "string" && type !== "" ? type : null,
    occurredMs: dateTimeMs(timestamp),
    payload,
    delivery,
    request,
  };
}

/** The fault of a value that is not a record. */
export function notARecord(reason: string): RecordFault {
  return { fault: "not_a_record", reason };
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Parses JSON that a record contains as text. `maxDepth` counts from the root of that JSON. */
export function parseNested(text: string, maxDepth: number): { readonly json: unknown } | RecordFault {
  try {
    const json: unknown = JSON.parse(text);
    if (!isDeeper(json, maxDepth)) return { json };
    return { fault: "too_deep", reason: `a text in it is JSON nested more than ${maxDepth} deep` };
  } catch {
    return { fault: "not_json", reason: "a text in it that should be JSON is not" }; // the parser's message would quote it
  }
}

/** Whether JSON is nested more than `levels` deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** Whether a text is a number as spreadsheets and data frames round it: `1.23E+17`, `1,23E+17`, `1e+17`. */
export function isRoundedNumber(text: string): boolean {
  return /^\d(?:[.,]\d+e\+?|e\+)\d{1,3}$/i.test(text.trim());
}
