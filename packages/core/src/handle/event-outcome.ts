import type { Issue } from "../event/catalog.ts";
import type { Claim } from "../store/dedupe-store.ts";

/** The outcome of an event that was handled as it arrived. */
export type EventOutcome =
  /** Its handler has run. */
  | { readonly code: "processed" }
  /** The id was done before, so nothing ran. */
  | { readonly code: "duplicate" }
  /** The id was done before with another body, so nothing ran. */
  | { readonly code: "conflict" }
  /** The handler chose to do nothing, for `reason`. */
  | { readonly code: "discarded"; readonly reason: string }
  /** The catalog does not have this event type. */
  | { readonly code: "unknown_type" }
  /** The catalog has it, and no handler takes it. */
  | { readonly code: "unhandled_type" }
  /** It is authentic, but does not fit its schema or the envelope. */
  | { readonly code: "invalid"; readonly issues: readonly Issue[] }
  /**
   * The same id is being handled right now, or is in an inbox on the same tables (`inInbox`), where a worker handles it unless it is dead or
   * unhandled. `conflict`: the id is known with another body.
   */
  | {
      readonly code: "busy";
      readonly retryAfterMs: number;
      readonly conflict?: true;
      readonly inInbox?: Extract<Claim, { status: "busy" }>["inInbox"];
    }
  /** Its handler asked for another try, in `retryAfterMs`. */
  | { readonly code: "retry_later"; readonly retryAfterMs: number }
  /** Its handler threw. From `process`, also: its schema threw. */
  | { readonly code: "failed"; readonly error: unknown }
  /** There was no result in time. The handler may still finish, and then completes its claim. */
  | { readonly code: "deadline_reached" }
  /** The claim ended before its handler could start, or went to another owner while the handler ran. */
  | { readonly code: "lease_lost" }
  /** The dedupe store did not answer. */
  | { readonly code: "store_unavailable"; readonly error: unknown };

/** The outcome of a handler that is to run again. */
export type UndoneOutcome = Extract<EventOutcome, { code: "retry_later" | "failed" }>;

/** The outcome of a handler. */
export type DispatchOutcome = Extract<
  EventOutcome,
  { code: "processed" | "discarded" | "retry_later" | "failed" }
>;
