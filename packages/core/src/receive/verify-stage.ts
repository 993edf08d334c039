import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { Refusal } from "../verify/signature.ts";
import type { Undecided } from "./verifier.ts";

/**
 * The comparison of a signature with the keys, waiting for a key source included. On `tracing:esim-webhooks:verify:*`. A
 * delivery whose headers or size are refused is not compared: that is seen in `receive`.
 */
export interface VerifyMessage extends StageMessage {
  readonly source: string;
  /** As the delivery says: authentic when the outcome is `verified`. */
  readonly id: string;
  /** The fingerprint of the key that matched. */
  readonly key?: string;
  readonly outcome: "verified" | Refusal["code"] | Undecided["code"] | "internal_error";
}

export const verifyStage: Stage<VerifyMessage, "key"> = createStage("verify", "internal_error");
