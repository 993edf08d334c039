import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { OutcomeCode } from "./outcome.ts";

/**
 * A delivery, from its arrival to its answer. Published on `tracing:esim-webhooks:receive:*`. At the deadline it ends with
 * `deadline_reached`; the end of a late handler is seen in `handle` and `settle`.
 */
export interface ReceiveMessage extends StageMessage {
  /** Absent until the endpoint is known: with `endpoints`, at the start, and if there is none. */
  readonly source?: string;
  /** Read from the headers, in any form. Authentic only if there is a `key`. */
  readonly id?: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  /** The event type. Absent until the body is parsed, and if it is not an envelope. */
  readonly type?: string;
  /**
   * The time from the event, by its own timestamp, to the answer, in ms by the clock of this machine. Absent unless it is authentic and an
   * envelope.
   */
  readonly lagMs?: number;
  /**
   * How far the delivery's timestamp is ahead of this machine's clock, in seconds; below 0, it is behind. Absent unless it is authentic
   * and in seconds.
   */
  readonly skewSeconds?: number;
  /** The delivery's outcome: it decides the status of the answer. */
  readonly outcome: OutcomeCode;
  /** The id is being handled with another body. */
  readonly conflict?: true;
}

export const receiveStage: Stage<
  ReceiveMessage,
  "source" | "id" | "key" | "type" | "lagMs" | "skewSeconds" | "conflict"
> = createStage("receive", "internal_error");
