/** Stable codes of the errors that core throws. Other packages have codes of their own. */
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
 * What goes wrong in set-up or infrastructure. What becomes of a delivery is an `Outcome`, never an error.
 * Match on `code`, never on the message, which has two halves: what is wrong, and how to mend it.
 * @template Code the codes of the package that throws it; default those of core
 */
export class WebhookError<Code extends string = CoreErrorCode> extends Error {
  override readonly name = "WebhookError";
  readonly code: Code;

  constructor(code: NoInfer<Code>, problem: string, remedy: string, options?: { cause: unknown }) {
    super(`${problem} ${remedy}`, options);
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }

  /** True for a `WebhookError` of any package, and of any copy of this one in the process, where `instanceof` is not. */
  static is(value: unknown): value is WebhookError<CoreErrorCode | (string & {})> {
    return typeof value === "object" && value !== null && brand in value;
  }
}
