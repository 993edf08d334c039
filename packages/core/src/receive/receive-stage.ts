import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { OutcomeCode } from "./outcome.ts";

/**
 * One delivery, from its arrival to its answer. On `tracing:esim-webhooks:receive:*`. At the deadline it ends with
 * `deadline_reached`; what a late handler comes to is a `handle` and a `settle` of its own.
 */
export interface ReceiveMessage extends StageMessage {
  readonly source: string;
  /** As the delivery says, once its headers are well-formed. It is authentic where there is a `key`. */
  readonly id?: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  readonly type?: string;
  readonly outcome: OutcomeCode;
  /** A duplicate by its id alone: it was done with another body. */
  readonly conflict?: true;
}

export const receiveStage: Stage<ReceiveMessage, "id" | "key" | "type" | "conflict"> = createStage(
  "receive",
  "internal_error",
);
