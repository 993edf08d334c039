import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { Refusal } from "../verify/signature.ts";
import type { Undecided } from "./verifier.ts";

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
