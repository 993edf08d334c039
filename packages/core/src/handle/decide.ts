import { isInstance } from "../base/thrown.ts";
import { type Issue, issueText, withoutValues } from "../event/catalog.ts";
import type { Ending } from "../store/ending.ts";
import { errorText } from "../store/error-text.ts";
import type { EventOutcome, UndoneOutcome } from "./event-outcome.ts";
import { HandlerTimeout } from "./handler.ts";

/** The limits of an event, which decide, together with its outcome, how it ends. */
export interface Limits {
  /** How long handlers may put the event off, in ms. Used only in the error of an event that is dead for this reason. */
  readonly maxWaitMs?: number;
  /** Whether the event is not tried again after this outcome. */
  isLast(outcome: UndoneOutcome): boolean;
  /** The time until the event is due again, in ms. */
  afterMs(outcome: UndoneOutcome): number;
}

/** Decides how an event ends. Pure: all that depends on the attempt or the time is in the limits. */
export function decide(outcome: EventOutcome, limits: Limits): Ending {
  switch (outcome.code) {
    case "processed":
    case "discarded":
    case "duplicate":
    case "conflict":
      return { state: "done" };
    case "unknown_type":
    case "unhandled_type":
      return { state: "unhandled" };
    case "invalid":
      return {
        state: "dead",
        reason: "invalid",
        error: describeIssues(outcome.issues),
        cause: describeIssues(outcome.issues.map(withoutValues)),
      };
    case "failed": {
      const { error: thrown } = outcome;
      const reason = isInstance(thrown, HandlerTimeout) ? "timed_out" : "failed";
      const failure = { reason, error: errorText(thrown), thrown } as const;
      if (limits.isLast(outcome)) return { state: "dead", ...failure };
      return { state: "retry", ...failure, afterMs: limits.afterMs(outcome) };
    }
    case "retry_later":
      if (!limits.isLast(outcome))
        return { state: "waiting", afterMs: limits.afterMs(outcome), error: "retryLater" };
      return {
        state: "dead",
        reason: "retry_later",
        error: `The handler asked for retries for longer than maxWaitMs${limits.maxWaitMs === undefined ? "" : `, ${limits.maxWaitMs} ms`}.`,
      };
    case "busy":
      return { state: "given_back", afterMs: outcome.retryAfterMs };
    case "deadline_reached":
      return { state: "given_back", afterMs: 0 };
    case "lease_lost":
      return { state: "given_back" };
    case "store_unavailable":
      return { state: "store_unavailable", error: outcome.error };
  }
}

const mostIssues = 20;

/** Lists the first issues, each with its path and what was expected there. */
function describeIssues(issues: readonly Issue[]): string {
  const texts = issues.slice(0, mostIssues).map(issueText);
  const left = issues.length - texts.length;
  return `invalid: ${[...texts, ...(left > 0 ? [`${left} more`] : [])].join("; ")}`;
}
