import type { Issue } from "./catalog.ts";
import type { Refusal } from "./signature.ts";

/** What became of an event that was worked where it arrived. */
export type EventOutcome =
  /** `again`: it was done before, and ran again since it was told to (`Provenance.rerun`). */
  | { readonly code: "processed"; readonly again?: true }
  /** The id was done before: nothing ran. */
  | { readonly code: "duplicate" }
  /** The handler looked at it and chose to do nothing, for `reason`. */
  | { readonly code: "discarded"; readonly reason: string; readonly again?: true }
  /** The catalog does not have this event type. */
  | { readonly code: "unknown_type" }
  /** The catalog has it, and no handler takes it. */
  | { readonly code: "unhandled_type" }
  /** It is authentic, and not what its schema (or the envelope) says. */
  | { readonly code: "invalid"; readonly issues: readonly Issue[] }
  /** The same id is being worked right now. */
  | { readonly code: "busy"; readonly retryAfterMs: number }
  | { readonly code: "retry_later"; readonly retryAfterMs: number }
  | { readonly code: "failed"; readonly error: unknown }
  /** The time for an answer is up; the handler may still finish, and then completes its claim. */
  | { readonly code: "deadline_reached" }
  /** The handler ran, and meanwhile its claim went to another owner. */
  | { readonly code: "lease_lost" }
  | { readonly code: "store_unavailable"; readonly error: unknown };

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
  | { readonly code: Refusal["code"]; readonly reason: string }
  | { readonly code: "method_not_allowed" }
  /** A content-encoding was set; nothing unauthenticated is inflated. */
  | { readonly code: "unsupported_encoding" }
  | { readonly code: "too_large" }
  /** The sender stopped half-way. */
  | { readonly code: "body_incomplete" }
  /** Something read the body before us, and the raw bytes are gone. */
  | { readonly code: "body_consumed"; readonly hint: string }
  | { readonly code: "shutting_down" }
  /** No key matches, while the keyring says that a rotation is under way. */
  | { readonly code: "rotating" }
  /** No key matches, and the newest keys could not be had. */
  | { readonly code: "keys_unavailable"; readonly reason: string }
  /** A mistake of ours or of a schema: not foreseen. */
  | { readonly code: "internal_error"; readonly error: unknown };

export type OutcomeCode = Outcome["code"];
