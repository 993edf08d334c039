import { createStage, type Stage, type StageMessage } from "@esim-webhooks/core/kit";
import type { ApiErrorCode } from "../base/api-error.ts";
import type { Method } from "./operation.ts";

/** One call of the partner API, with all its attempts. On `tracing:esim-webhooks:call:*`. */
export interface CallMessage extends StageMessage {
  /** The function, such as `webhooks.create`; `request` for a call that the API has no function for. */
  readonly operation: string;
  readonly method: Method;
  /** The status of the last answer; absent when there was none. */
  readonly status?: number;
  /** How many requests were sent. */
  readonly attempts?: number;
  /** How long the call waited for its slots and between its attempts, in ms of the client's clock. Part of `durationMs`. */
  readonly waitMs?: number;
  readonly outcome: "ok" | ApiErrorCode;
}

export const callStage: Stage<CallMessage, "status" | "attempts" | "waitMs"> = createStage("call", "aborted");
