import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { DispatchOutcome } from "./event-outcome.ts";

/** One run of a handler, for a delivery or by a worker. On `tracing:esim-webhooks:handle:*`. */
export interface HandleMessage extends EventKey, StageMessage {
  readonly type: string;
  /** The number of this try, from 1, like `context.attempt`. */
  readonly attempt: number;
  /** True when the event comes from an import, not from the sender. */
  readonly replayed: boolean;
  readonly outcome: DispatchOutcome["code"];
}

export const handleStage: Stage<HandleMessage> = createStage("handle", "failed");
