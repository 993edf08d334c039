import type { WebhookEvent } from "@esim-webhooks/core";
import type { CapturedRequest } from "./captured-request.ts";
import type { Fields } from "./fields.ts";

/** A captured request whose signature, if it has one, is still to be verified. */
export interface ReceivedRequest extends CapturedRequest {
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
  readonly payload: Fields;
  /** The delivery record that it was in. */
  readonly delivery: Fields | null;
  /** The captured request that it was in. */
  readonly request: ReceivedRequest | null;
}

export function dumpedEvent(
  id: string,
  payload: Fields,
  delivery: Fields | null,
  request: ReceivedRequest | null,
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
export function eventOf({ id, payload }: DumpedEvent): WebhookEvent {
  const { type, timestamp, data } = payload;
  return { id, type, timestamp, data } as WebhookEvent;
}
