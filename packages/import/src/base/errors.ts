import type { CoreErrorCode, WebhookError } from "@esim-webhooks/core";

/** The codes of the errors that an import throws, besides those of core; they are stable. */
export type ImportErrorCode =
  | "damaged_dump"
  | "unknown_dump"
  | "dump_too_large"
  | "unsigned_dump"
  | "source_unknown"
  | "checkpoint_mismatch"
  | "checkpoint_in_use"
  | "foreign_file";

export type ImportError = WebhookError<CoreErrorCode | ImportErrorCode>;
