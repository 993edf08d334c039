import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { OutcomeCode } from "./outcome.ts";

/**
 * A delivery, from its arrival to its answer. Published on `tracing:esim-webhooks:receive:*`. At the deadline it ends with
 * `deadline_reached`; the end of a late handler is seen in `handle` and `settle`.
 */
export interface ReceiveMessage extends StageMessage {
  /** The name of the endpoint. With `endpoints`, absent until the endpoint is found. */
  readonly source?: string;
  /** Read from the headers, in any form. Authentic only if there is a `key`. */
  readonly id?: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  /** The event type. Absent until the body is parsed, and if it is not an envelope. */
  readonly type?: string;
  /**
   * The time from the event, by its own timestamp, to the answer, in ms by the clock of this machine. Absent if the body was not parsed, or
   * the event is invalid.
   */
  readonly lagMs?: number;
  /**
   * How far the delivery's timestamp is ahead of this machine's clock, in seconds; below 0, it is behind. Absent if it is not verified or not in
   * seconds; or out of tolerance, and not the newest: perhaps a replay.
   */
  readonly skewSeconds?: number;
  /** The delivery's outcome: it decides the status of the answer. */
  readonly outcome: OutcomeCode;
  /** The outcome is `busy`, and the id is known with another body. */
  readonly conflict?: true;
}

export const receiveStage: Stage<
  ReceiveMessage,
  "source" | "id" | "key" | "type" | "lagMs" | "skewSeconds" | "conflict"
> = createStage("receive", "internal_error");
