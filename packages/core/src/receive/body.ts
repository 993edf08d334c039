import type { Outcome } from "./outcome.ts";

/** Why there are no bytes to verify. */
export type BodyFault =
  | Extract<Outcome, { code: "body_incomplete" | "body_consumed" }>
  | { readonly code: "too_large" };

/**
 * Reads a request's raw body: at most `limitBytes`, until `signal` aborts. Never rejects: resolves to the fault.
 * Leaves the connection open, so that an answer can be sent.
 */
export type BodyReader = (limitBytes: number, signal: AbortSignal) => Promise<Uint8Array | BodyFault>;
