import { WebhookError } from "@esim-webhooks/core";
import { createStage, listenTo, type Stage, type StageMessage } from "@esim-webhooks/core/internal";
import type { ApiErrorCode } from "../base/api-error.ts";
import type { Method } from "./operation.ts";

/** A call of the partner API, with all its attempts. On `tracing:esim-webhooks:call:*`. */
export interface CallMessage extends StageMessage {
  /** The function, such as `webhooks.create`; `request` for a call that the client has no function for. */
  readonly operation: string;
  /** The HTTP method. */
  readonly method: Method;
  /** The status of the last answer; absent when there was none. */
  readonly status?: number;
  /** How many requests were sent. */
  readonly attempts?: number;
  /** How long the call waited for its slots and between its attempts, in ms of the client's clock. Part of `durationMs`. */
  readonly waitMs?: number;
  /** `ok`, even if the answer cannot be read; otherwise the code of the `ApiError` with which the call rejects. */
  readonly outcome: "ok" | ApiErrorCode;
}

export const callStage: Stage<CallMessage, "status" | "attempts" | "waitMs"> = createStage("call", "aborted");

/**
 * Watches every call of the partner API in this process that has valid arguments, and token requests (`auth.token`), once each has ended.
 * A listener that throws or rejects changes nothing else: the first such error becomes a Node.js process warning.
 *
 * Throws `invalid_option` if the listener is not a function. Returns a function that stops watching.
 */
export function observeCalls(listener: (message: CallMessage) => void): () => void {
  if (typeof listener === "function") return listenTo("call", callStage.ended, listener);
  throw new WebhookError(
    "invalid_option",
    `expected a function, not ${listener === null ? "null" : typeof listener}.`,
    "Pass a function that takes a CallMessage.",
    { where: "observeCalls" },
  );
}
