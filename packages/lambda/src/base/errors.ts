import { WebhookError } from "@esim-webhooks/core";

/** The codes of this package's own errors; they are stable. */
export type LambdaErrorCode =
  | "batch_failed"
  | "message_too_large"
  | "missing_rights"
  /** Lambda passed an event of another source than the handler is for. Connect the handler to the source that the message names. */
  | "unknown_event_source"
  | "unknown_queue"
  | "unknown_table"
  | "wrong_table";

/** The error of a handler that was called with an event of another source. */
export function unknownEventSource(
  where: string,
  problem: string,
  remedy: string,
): WebhookError<LambdaErrorCode> {
  return new WebhookError<LambdaErrorCode>("unknown_event_source", problem, remedy, { where });
}
