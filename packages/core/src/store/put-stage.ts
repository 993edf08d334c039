import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { PutResult } from "./inbox-writer.ts";

/** One call of an inbox's `put` by a receiver or an import, on `tracing:esim-webhooks:put:*`. */
export interface PutMessage extends StageMessage {
  /** The events to store. The type is null if the body is not an envelope. */
  readonly events: readonly (EventKey & { readonly type: string | null })[];
  /** The inbox's results, in the order of `events`. Absent if it could not store them. */
  readonly results?: readonly PutResult[];
  readonly outcome: "put" | "store_unavailable";
}

export const putStage: Stage<PutMessage, "results"> = createStage("put", "store_unavailable");
