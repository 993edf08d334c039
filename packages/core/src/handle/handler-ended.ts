import { hasBrand } from "../base/thrown.ts";

const brand = Symbol.for("esim-webhooks.handler-ended");

/**
 * Thrown by `context.retryLater` and `context.discard`, so that nothing after the call runs. The outcome is noted by then, and a
 * handler that catches this error and returns does not change it. Code that catches all errors should rethrow this one.
 */
export class HandlerEnded extends Error {
  /** `"HandlerEnded"`. */
  override readonly name = "HandlerEnded";

  /** @param call how the handler ended, such as `retryLater(30000)` */
  constructor(call: string) {
    super(
      `The handler has ended its event with ${call}, so nothing after it should run. Await the call, and rethrow this error where you catch all.`,
    );
    Object.defineProperty(this, brand, { value: true });
  }

  /** Whether a value is a `HandlerEnded`, even one from another copy of this package, which `instanceof` does not see. */
  static is(value: unknown): value is HandlerEnded {
    return hasBrand(value, brand);
  }
}
