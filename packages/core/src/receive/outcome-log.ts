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
  /** When the event occurred, by its own timestamp. For `ReceiveMessage`, not for the log. */
  occurred?: string;
  /** As in `ReceiveMessage`. Not for the log. */
  skewSeconds?: number;
  /** The sender was answered before this outcome was known. */
  late?: boolean;
}

/** Logs an outcome, with the time since `startedAt`. */
export type OutcomeLog = (outcome: Outcome, seen: Seen, startedAt: number) => void;

/** Outcomes that may come in floods, even authentic: a store is unreachable, or anybody replays a delivery that is stale or unusable. */
const floods: ReadonlySet<OutcomeCode> = new Set<OutcomeCode>([
  "store_unavailable",
  "unusable_header",
  "timestamp_out_of_tolerance",
]);

/** Outcomes that a mistake of the developer may have caused, and that may cost an event. */
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
 * Makes the log of a receiver: one line for each authentic delivery. Deliveries that are not known to be authentic, and those with an outcome
 * in `floods`, get at most one line a second for each outcome; the next line counts the others as `alike`. Without a logger, the first delivery
 * with each outcome in `warned` is a process warning.
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

/** Where the error of an outcome comes from, for the warning's text: the error itself may be anything, even undefined. */
const thrownBy: Readonly<Partial<Record<OutcomeCode, string>>> = {
  failed: "its handler threw",
  internal_error: "a schema threw, or this is a bug of esim-webhooks",
};

/** The text of a process warning, and the thrown error, if any. */
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
