import { WebhookError } from "@esim-webhooks/core";

/** The codes of this package's own errors; they are stable. */
export type LambdaErrorCode =
  | "batch_failed"
  | "message_too_large"
  | "missing_rights"
  /** What Lambda has passed is not of the source that the handler is for. The message says what to connect. */
  | "unknown_event_source"
  | "unknown_queue"
  | "unknown_table"
  | "wrong_table";

/** A handler was called with an event of another kind. */
export function unknownEventSource(
  where: string,
  problem: string,
  remedy: string,
): WebhookError<LambdaErrorCode> {
  return new WebhookError<LambdaErrorCode>("unknown_event_source", problem, remedy, { where });
}
