import { monotonicClock } from "../base/clock.ts";
import { type Logger, silentLogger, throttledLog, warnOnce } from "../base/logger.ts";
import { traceIds } from "../base/tracer.ts";
import { type Issue, issueText, withoutValues } from "../event/catalog.ts";
import { shownId } from "../event/event.ts";
import type { Outcome, OutcomeCode } from "./outcome.ts";
import { logLevelOf, replyTo } from "./reply.ts";

/** The facts that are known about a delivery so far, for its log line. */
export interface Seen {
  /** Undefined until the endpoint is known. */
  source?: string;
  id?: string;
  /** The fingerprint of the key that matched: the delivery is authentic. */
  key?: string;
  type?: string;
  /** When the event occurred, by its own timestamp. For messages, not for the log. */
  occurred?: string;
  /** How far its timestamp is ahead of this machine's clock. For messages, not for the log. */
  skewSeconds?: number;
  /** The sender was answered before this outcome was known. */
  late?: boolean;
}

/** Logs an outcome, with its time since `startedAt`. */
export type OutcomeLog = (outcome: Outcome, seen: Seen, startedAt: number) => void;

/** Outcomes of authentic deliveries of which there may be a flood: anybody can repeat one that is stale or cannot be used. */
const floods: ReadonlySet<OutcomeCode> = new Set<OutcomeCode>([
  "store_unavailable",
  "unusable_header",
  "timestamp_out_of_tolerance",
]);

/** Outcomes that a mistake of the developer causes, and that cost an event or may cost it. */
const warned: ReadonlySet<OutcomeCode> = new Set<OutcomeCode>([
  "body_consumed",
  "unusable_header",
  "timestamp_out_of_tolerance",
  "no_matching_key",
  "failed",
  "invalid",
  "internal_error",
]);

/**
 * Makes the log of a receiver: one line for each authentic delivery. Limits three kinds to one line a second for each outcome, and counts the
 * rest as `alike`: deliveries that are not authentic, stale ones, which anybody can send who has captured a delivery, and those that meet an
 * unreachable store. Without a logger, the first delivery that a mistake of the developer costs is a process warning.
 */
export function createOutcomeLog(logger: Logger): OutcomeLog {
  const throttled = new Map<OutcomeCode, Logger["error"]>();
  const logHint = throttledLog(logger.error, monotonicClock);

  function writerFor(outcome: Outcome, { key }: Seen): Logger["error"] {
    const write = logger[logLevelOf(outcome)];
    const { code } = outcome;
    if (key !== undefined && !floods.has(code)) return write;
    const existing = throttled.get(code);
    if (existing !== undefined) return existing;
    const created = throttledLog(write, monotonicClock);
    throttled.set(code, created);
    return created;
  }

  return (outcome, seen, startedAt) => {
    if (logger === silentLogger) {
      if (warned.has(outcome.code)) warnOnce(outcome.code, ...warningOf(outcome));
      return;
    }
    if (outcome.code === "body_consumed") logHint({ code: outcome.code }, outcome.hint);
    const durationMs = Math.round(performance.now() - startedAt);
    const id = seen.id !== undefined && { id: shownId(seen.id) };
    const { occurred: _, skewSeconds: __, ...known } = seen;
    const fields = {
      ...known,
      ...id,
      outcome: outcome.code,
      durationMs,
      ...traceIds(),
      ...loggable(outcome),
    };
    writerFor(outcome, seen)(fields, "webhook delivery");
  };
}

/** Where the error of an outcome comes from: the error itself may be anything, also undefined. */
const thrownBy: Readonly<Partial<Record<OutcomeCode, string>>> = {
  failed: "its handler threw",
  internal_error: "a schema threw, or this is a bug of esim-webhooks",
};

/** The text of a process warning, and what was thrown. */
function warningOf(outcome: Outcome): [string, unknown] {
  if ("hint" in outcome) return [outcome.hint, undefined];
  const { err, reason } = loggable(outcome);
  const found = "issues" in outcome ? issueTexts(outcome.issues).join("; ") : reason;
  const why = thrownBy[outcome.code] ?? `${found}${"skew" in outcome ? howToSetTime : ""}`;
  return [`A delivery was answered ${replyTo(outcome).status}: ${why}. Pass { logger }.`, err];
}

function issueTexts(issues: readonly Issue[]): string[] {
  return issues.map((issue) => issueText(withoutValues(issue)));
}

const otherBody =
  "this id was done or stored with another body, which stays, and this one was dropped: each event needs an id of its own";
const howToSetTime = ". Set this machine's clock (NTP), or see toleranceSeconds";
const howToFindOut = "with a captured delivery, esim-webhooks verify finds the cause";

/** Returns the fields that an outcome adds to its log line. */
function loggable(outcome: Outcome): Record<string, unknown> {
  if ("error" in outcome) return { err: outcome.error };
  if ("issues" in outcome) return { issues: issueTexts(outcome.issues) };
  if ("conflict" in outcome) return { conflict: true };
  if (outcome.code === "conflict") return { reason: otherBody };
  if (outcome.code === "no_matching_key") return { reason: `${outcome.reason}; ${howToFindOut}` };
  if ("skew" in outcome) return { reason: outcome.reason, skew: outcome.skew };
  return "reason" in outcome ? { reason: outcome.reason } : {};
}
