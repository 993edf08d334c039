import { createStage, type Stage, type StageMessage } from "../base/trace.ts";

/** One call of an inbox's `take` by a worker. On `tracing:esim-webhooks:take:*`. */
export interface TakeMessage extends StageMessage {
  /** How many events there was room for. */
  readonly limit: number;
  /** How many were taken; 0 when none was due. Absent when the inbox did not answer. */
  readonly taken?: number;
  readonly outcome: "taken" | "store_unavailable";
}

export const takeStage: Stage<TakeMessage, "taken"> = createStage("take", "store_unavailable");
