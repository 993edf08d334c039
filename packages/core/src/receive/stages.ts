import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { Refusal } from "../verify/refusal.ts";
import type { OutcomeCode } from "./outcome.ts";
import type { Undecided } from "./verifier.ts";

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
  /** The id is being worked with another body. */
  readonly conflict?: true;
}

export const receiveStage: Stage<ReceiveMessage, "id" | "key" | "type" | "conflict"> = createStage(
  "receive",
  "internal_error",
);

/**
 * One comparison of a signature with the keys, including the wait for a key source. On `tracing:esim-webhooks:verify:*`.
 * A delivery that is refused for its headers or size is not compared; it is seen in `receive`.
 */
export interface VerifyMessage extends StageMessage {
  readonly source: string;
  /** Read from the headers. Authentic only if the outcome is `verified`. */
  readonly id: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  readonly outcome: "verified" | Refusal["code"] | Undecided["code"] | "internal_error";
}

export const verifyStage: Stage<VerifyMessage, "key"> = createStage("verify", "internal_error");
