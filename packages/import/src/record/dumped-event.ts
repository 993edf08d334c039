import type { WebhookEvent } from "@esim-webhooks/core";
import type { FaultCode } from "../dump/record.ts";

/** The fields of a record, of which nothing is known yet. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a body's JSON may be. */
export type Envelope = { readonly [field in keyof WebhookEvent]?: unknown };

/** A request as it was received, whose signature is still to be verified. */
export interface CapturedRequest {
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** What the bytes may have been, the likeliest first: how they were captured is not known. */
  readonly bodies: readonly Uint8Array[];
  /** Whether the body was captured as an object, so that its bytes are a guess. */
  readonly isGuess: boolean;
  readonly isSigned: boolean;
  readonly receivedAt: Date;
}

/** An event in a dump: recognised, and neither filtered nor verified. */
export interface DumpedEvent {
  readonly id: string;
  /** As the body says, if it is an envelope. */
  readonly type: string | null;
  /** When it occurred; NaN where the envelope does not tell. */
  readonly occurredMs: number;
  readonly payload: Envelope;
  /** The delivery record that it was in. */
  readonly delivery: Fields | null;
  /** The captured request that it was in. */
  readonly request: CapturedRequest | null;
}

/** Why a record holds no event. The reason does not quote it. */
export interface RecordFault {
  readonly fault: FaultCode;
  readonly reason: string;
}

export function dumpedEvent(
  id: string,
  payload: Envelope,
  delivery: Fields | null,
  request: CapturedRequest | null,
): DumpedEvent {
  const { type, timestamp } = payload;
  return {
    id,
    type: typeof type === "string" && type !== "" ? type : null,
    occurredMs: typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN,
    payload,
    delivery,
    request,
  };
}

/** The event as it claims to be: for a catalog to check. */
export function eventOf({ id, payload: { type, timestamp, data } }: DumpedEvent): WebhookEvent {
  return { id, type, timestamp, data } as WebhookEvent;
}

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** JSON that a record holds as text. `maxDepth` counts from its own root. */
export function parseNested(text: string, maxDepth: number): { readonly json: unknown } | RecordFault {
  try {
    const json: unknown = JSON.parse(text);
    if (!isDeeper(json, maxDepth)) return { json };
    return { fault: "too_deep", reason: `text in it is JSON of more than ${maxDepth} levels` };
  } catch {
    return { fault: "not_json", reason: "text in it that should be JSON is not" }; // the parser's message quotes it
  }
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}
