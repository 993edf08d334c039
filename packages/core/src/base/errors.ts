/** The codes of the errors that core throws; they are stable. Other packages have their own codes. */
export type CoreErrorCode =
  | "missing_secret"
  | "invalid_secret"
  | "invalid_option"
  | "invalid_input"
  | "unknown_event_type"
  | "async_schema"
  | "store_full"
  | "store_unavailable";

const brand = Symbol.for("esim-webhooks.error");

/**
 * An error in set-up or infrastructure. The result of a delivery is an `Outcome`, never an error.
 * Match on `code`, not on the message. The message says what is wrong and how to mend it.
 * @template Code the codes of the package that throws it; default: those of core
 */
export class WebhookError<Code extends string = CoreErrorCode> extends Error {
  override readonly name = "WebhookError";
  readonly code: Code;

  constructor(code: NoInfer<Code>, problem: string, remedy: string, options?: { cause: unknown }) {
    super(`${problem} ${remedy}`, options);
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether a value is a `WebhookError`, even one from another copy of this package, which `instanceof` does not see. */
  static is(value: unknown): value is WebhookError<CoreErrorCode | (string & {})> {
    return typeof value === "object" && value !== null && brand in value;
  }
}
