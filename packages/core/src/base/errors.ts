/** Stable codes of every error this project throws. Match on these, never on messages. */
export type WebhookErrorCode =
  | "missing_secret"
  | "invalid_secret"
  | "invalid_option"
  | "invalid_input"
  | "unknown_event_type"
  | "async_schema"
  | "damaged_dump"
  | "unknown_dump"
  | "dump_too_large"
  | "unsigned_dump"
  | "checkpoint_mismatch"
  | "evicting_store"
  | "folder_in_use"
  | "migration_missing"
  | "store_full"
  | "store_unavailable";

const brand = Symbol.for("esim-webhooks.error");

/**
 * What goes wrong in set-up or infrastructure. What becomes of a delivery is an `Outcome`, never an error.
 * The message has two halves: what is wrong, and how to mend it.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  readonly code: WebhookErrorCode;

  constructor(code: WebhookErrorCode, problem: string, remedy: string, options?: { cause: unknown }) {
    super(`${problem} ${remedy}`, options);
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for a `WebhookError` of any copy of this package in the process, where `instanceof` is not. */
  static is(value: unknown): value is WebhookError {
    return typeof value === "object" && value !== null && brand in value;
  }
}
