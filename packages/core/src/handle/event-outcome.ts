import type { Issue } from "../event/catalog.ts";

/** What became of an event that was worked where it arrived. */
export type EventOutcome =
  | { readonly code: "processed" }
  /** The id was done before: nothing ran. `conflict`: it was done with another body, and this one was not looked at. */
  | { readonly code: "duplicate"; readonly conflict?: true }
  /** The handler looked at it and chose to do nothing, for `reason`. */
  | { readonly code: "discarded"; readonly reason: string }
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

/** What became of a handler. */
export type DispatchOutcome = Extract<
  EventOutcome,
  { code: "processed" | "discarded" | "retry_later" | "failed" }
>;
