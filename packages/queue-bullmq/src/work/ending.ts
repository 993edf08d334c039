import type { AttemptReport, EventOutcome, Issue } from "@esim-webhooks/core";
import { HandlerTimeout, isInstance, maskPersonalData } from "@esim-webhooks/core/kit";
import { UnrecoverableError } from "bullmq";

/** What a job returns to BullMQ, which shows it: how its event ended. */
export interface JobResult {
  /** `duplicate` and `conflict`: it was done before, so no handler ran. */
  readonly outcome: "processed" | "discarded" | "duplicate" | "conflict";
  /** Why the handler discarded it. */
  readonly reason?: string;
}

/** How a job ends: with a result, later again without an attempt spent, or with an error, which BullMQ retries or not. */
export type Ending =
  | { readonly result: JobResult }
  | { readonly retryAfterMs: number }
  | { readonly error: unknown };

/** What became of the event of a job. */
export type JobOutcome =
  | EventOutcome
  /** A schema of the catalog threw, so no handler ran. */
  | { readonly code: "schema_threw"; readonly error: unknown }
  /** The handler asked for a retry, and the event has waited for the longest time that it may. */
  | { readonly code: "waited_too_long"; readonly maxWaitMs: number };

/** The pause after which a job is tried again while the store is unreachable, or another owner has its event. */
const pauseMs = 5000;

/** The one place where outcomes of events become endings of jobs. `type` is null if the body is not an envelope. */
export function endingOf(outcome: JobOutcome, type: string | null): Ending {
  switch (outcome.code) {
    case "processed":
    case "duplicate":
    case "conflict":
      return { result: { outcome: outcome.code } };
    case "discarded":
      return { result: { outcome: "discarded", reason: maskPersonalData(outcome.reason) } };
    case "retry_later":
    case "busy":
      return { retryAfterMs: outcome.retryAfterMs };
    case "deadline_reached": // it was cancelled before its handler could start
      return { retryAfterMs: 0 };
    case "store_unavailable":
    case "lease_lost":
      return { retryAfterMs: pauseMs };
    case "unknown_type":
    case "unhandled_type":
      return { error: unrecoverable(`unhandled: no handler takes ${type}`) };
    case "invalid":
      return { error: unrecoverable(`invalid: ${outcome.issues.map(withoutValues).join("; ")}`) };
    case "waited_too_long":
      return {
        error: unrecoverable(
          `retry_later: The handler asked for retries for longer than maxWaitMs, ${outcome.maxWaitMs} ms.`,
        ),
      };
    case "failed":
    case "schema_threw":
      return { error: outcome.error };
  }
}

/** Why an attempt has failed, for the history of its event. */
export function failureReasonOf(outcome: JobOutcome): AttemptReport["reason"] {
  switch (outcome.code) {
    case "unknown_type":
    case "unhandled_type":
      return "unhandled";
    case "invalid":
      return "invalid";
    case "waited_too_long":
      return "retry_later";
    default:
      return "error" in outcome && isInstance(outcome.error, HandlerTimeout) ? "timed_out" : "failed";
  }
}

/** Nothing was thrown, so it has no stack: frames of this package would lead nowhere. */
function unrecoverable(message: string): Error {
  return Object.assign(new UnrecoverableError(message), { stack: "" });
}

/** The message of a schema of the user's own may contain values of the event. */
function withoutValues({ path, message, isFixedText }: Issue): string {
  const text = isFixedText ? message : "does not fit the schema";
  return path ? `${path}: ${text}` : text;
}
