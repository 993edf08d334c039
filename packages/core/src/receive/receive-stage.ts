import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { OutcomeCode } from "./outcome.ts";

/**
 * One delivery, from its arrival to its answer. On `tracing:esim-webhooks:receive:*`. At the deadline it ends with
 * `deadline_reached`; the end of a late handler is seen in `handle` and `settle`.
 */
export interface ReceiveMessage extends StageMessage {
  readonly source: string;
  /** Read from the headers once they are well-formed. Authentic only if there is a `key`. */
  readonly id?: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  readonly type?: string;
  readonly outcome: OutcomeCode;
  /** The id was done before, with another body. */
  readonly conflict?: true;
}

export const receiveStage: Stage<ReceiveMessage, "id" | "key" | "type" | "conflict"> = createStage(
  "receive",
  "internal_error",
);
