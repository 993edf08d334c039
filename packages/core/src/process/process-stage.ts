import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventOutcome } from "../handle/event-outcome.ts";

/**
 * One event that a processor accepted: from a receiver, an import, or your own queue. On `tracing:esim-webhooks:process:*`.
 * After a receiver's deadline it ends later than `receive`, with the outcome of the late handler.
 */
export interface ProcessMessage extends StageMessage {
  readonly source: string;
  /** Absent for an invalid event that a receiver or an import has parsed. */
  readonly id?: string;
  /** Absent when the event has none. */
  readonly type?: string;
  /** The number of this try, from 1. */
  readonly attempt: number;
  /** True when the event comes from an import, not from the sender. */
  readonly replayed: boolean;
  readonly outcome: EventOutcome["code"] | "internal_error";
  /** Another body has the same id, which was done before or is being worked. */
  readonly conflict?: true;
}

export const processStage: Stage<ProcessMessage, "conflict"> = createStage("process", "internal_error");
