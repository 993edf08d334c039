import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { CapturedRequest } from "./captured-request.ts";
import type { Fields } from "./fields.ts";

/** A captured request with its time of receipt. Its signature, if it has one, is not verified yet. */
export interface ReceivedRequest extends CapturedRequest {
  readonly isSigned: boolean;
  readonly receivedAt: Date;
}

/** An event in a dump: recognised, but neither filtered nor verified yet. */
export interface DumpedEvent {
  readonly id: string;
  /** The type in the body; null when the body has none. */
  readonly type: string | null;
  /** When it occurred; NaN without a valid timestamp. */
  readonly occurredMs: number;
  readonly payload: Fields;
  /** The delivery record that contains it, if one does. */
  readonly delivery: Fields | null;
  /** The captured request that contains it, if one does. */
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
    occurredMs: dateTimeMs(timestamp),
    payload,
    delivery,
    request,
  };
}
