import type { Issue } from "../event/catalog.ts";
import type { Claim } from "../store/dedupe-store.ts";

/** The outcome of a try to handle an event. */
export type EventOutcome =
  /** Its handler has returned. */
  | { readonly code: "processed" }
  /** The id was done before, so nothing ran. */
  | { readonly code: "duplicate" }
  /** The id was done before with another body, so nothing ran. */
  | { readonly code: "conflict" }
  /** Its handler has called `context.discard(reason)`. */
  | { readonly code: "discarded"; readonly reason: string }
  /** The catalog does not have this event type, and no handler takes it. */
  | { readonly code: "unknown_type" }
  /** No handler takes this event type. */
  | { readonly code: "unhandled_type" }
  /** It does not fit its schema, or its body is not an envelope. */
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
  /** Its handler threw, its transaction could not be committed, or (not from `accept`) its schema threw. */
  | { readonly code: "failed"; readonly error: unknown }
  /** There was no result in time. If the handler still succeeds, the event is done then. */
  | { readonly code: "deadline_reached" }
  /** The claim was lost before the handler could start, or before its result was stored. */
  | { readonly code: "lease_lost" }
  /** The dedupe store failed or did not answer. */
  | { readonly code: "store_unavailable"; readonly error: unknown };

/** The outcome of a handler whose event is tried again, unless a limit is reached. */
export type UndoneOutcome = Extract<EventOutcome, { code: "retry_later" | "failed" }>;

/** The outcome of a handler. */
export type DispatchOutcome = Extract<
  EventOutcome,
  { code: "processed" | "discarded" | "retry_later" | "failed" }
>;
