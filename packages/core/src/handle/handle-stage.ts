import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { DispatchOutcome } from "./event-outcome.ts";

/** One run of a handler, for a delivery or by a worker. On `tracing:esim-webhooks:handle:*`. */
export interface HandleMessage extends EventKey, StageMessage {
  readonly type: string;
  /** Which try this is, from 1, as `context.attempt`. */
  readonly attempt: number;
  /** Whether the event comes from a dump and not from the sender. */
  readonly replayed: boolean;
  readonly outcome: DispatchOutcome["code"];
}

export const handleStage: Stage<HandleMessage> = createStage("handle", "failed");
