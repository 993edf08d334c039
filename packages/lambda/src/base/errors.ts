/** The codes of this package's own errors; they are stable. */
export type LambdaErrorCode =
  | "batch_failed"
  | "message_too_large"
  | "missing_rights"
  | "unknown_event_source"
  | "unknown_queue"
  | "unknown_table"
  | "wrong_table";
