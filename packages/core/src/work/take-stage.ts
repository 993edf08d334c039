import { createStage, type Stage, type StageMessage } from "../base/trace.ts";

/** A worker's call of the inbox's `take`. On `tracing:esim-webhooks:take:*`. */
export interface TakeMessage extends StageMessage {
  /** The most events that the worker could start. */
  readonly limit: number;
  /** How many events were taken; 0 when none was due. Absent when the inbox did not answer. */
  readonly taken?: number;
  readonly outcome: "taken" | "store_unavailable";
}

export const takeStage: Stage<TakeMessage, "taken"> = createStage("take", "store_unavailable");
