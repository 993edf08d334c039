import type { EventOutcome } from "../handle/event-outcome.ts";
import type { Refusal } from "../verify/refusal.ts";

/** What became of an event that was handed to an inbox. */
export type StoredOutcome =
  | { readonly code: "stored" }
  | { readonly code: "already_stored" }
  /** The id is stored with another body; the stored one stands. */
  | { readonly code: "conflict" };

/** What became of a delivery. Always a value, never an exception. */
export type Outcome =
  | EventOutcome
  | StoredOutcome
  | Refusal
  | { readonly code: "method_not_allowed" }
  /** A content-encoding was set; nothing unauthenticated is inflated. */
  | { readonly code: "unsupported_encoding" }
  | { readonly code: "too_large" }
  /** The sender stopped in the middle of the body. */
  | { readonly code: "body_incomplete" }
  /** Something else read the body first, and the raw bytes are gone. */
  | { readonly code: "body_consumed"; readonly hint: string }
  | { readonly code: "shutting_down" }
  /** No key matches, and the keyring says that a rotation is under way. */
  | { readonly code: "rotating" }
  /** No key matches, and the newest keys could not be loaded. */
  | { readonly code: "keys_unavailable"; readonly reason: string }
  /** A `webhookHandler` was made without a secret, and there still is none. */
  | { readonly code: "missing_secret" }
  /** A bug, or a schema that threw. */
  | { readonly code: "internal_error"; readonly error: unknown };

export type OutcomeCode = Outcome["code"];
