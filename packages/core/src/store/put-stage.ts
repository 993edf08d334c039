import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import type { EventKey } from "../event/event.ts";
import type { PutResult } from "./inbox-writer.ts";

/** One call of an inbox's `put`, by a receiver or an import. On `tracing:esim-webhooks:put:*`. */
export interface PutMessage extends StageMessage {
  /** What is to be stored. The type is null when the body is no envelope. */
  readonly events: readonly (EventKey & { readonly type: string | null })[];
  /** What the inbox answered, one to one with `events`. Absent when it could not store. */
  readonly results?: readonly PutResult[];
  readonly outcome: "put" | "store_unavailable";
}

export const putStage: Stage<PutMessage, "results"> = createStage("put", "store_unavailable");
