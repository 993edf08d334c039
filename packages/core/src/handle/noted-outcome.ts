import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger, warnOnce } from "../base/logger.ts";
import { readThrown } from "../base/thrown.ts";
import type { EventKey } from "../event/event.ts";
import type { DispatchOutcome } from "./event-outcome.ts";
import { HandlerEnded } from "./handler-ended.ts";

/** The outcome that a running handler has noted with `context.retryLater` or `context.discard`, if any. */
export interface NotedOutcome {
  /** The first of these calls, its outcome, and the error that it threw. */
  first?: { readonly call: string; readonly outcome: DispatchOutcome; readonly thrown: Error };
  /** The first later call that differs from `first.call`. */
  otherCall?: string;
  /** Whether the handler has returned, thrown, or been abandoned: nothing can be noted any more. */
  isOver: boolean;
}

/** Makes a note for one run of a handler. */
export function createNote(): NotedOutcome {
  return { isOver: false };
}

/** The event of a handler, and where its late calls are logged. */
export interface NotedEvent extends EventKey {
  readonly type: string;
  readonly logger: Logger;
}

/** Notes that the event is tried again, and throws. Wrong milliseconds are noted as a failure. */
export function noteRetryLater(note: NotedOutcome, event: NotedEvent, afterMs: number): never {
  const call = `retryLater(${shown(afterMs)})`;
  if (Number.isFinite(afterMs) && afterMs >= 0)
    return end(note, event, call, { code: "retry_later", retryAfterMs: afterMs });
  const error = new WebhookError(
    "invalid_input",
    `retryLater was called with ${shown(afterMs)}.`,
    "Pass milliseconds, 0 or more.",
  );
  return end(note, event, call, { code: "failed", error }, error);
}

/** Notes that the event is done without effect, and throws. A reason that is no text is noted as a failure. */
export function noteDiscard(note: NotedOutcome, event: NotedEvent, reason: string): never {
  const call = `discard(${shown(reason)})`;
  if (typeof reason === "string") return end(note, event, call, { code: "discarded", reason });
  const error = new WebhookError(
    "invalid_input",
    `discard was called with ${shown(reason)}.`,
    "Pass the reason as a string, for the log.",
  );
  return end(note, event, call, { code: "failed", error }, error);
}

function end(
  note: NotedOutcome,
  event: NotedEvent,
  call: string,
  outcome: DispatchOutcome,
  thrown: Error = new HandlerEnded(call),
): never {
  if (note.isOver) throw tooLate(event, { call });
  note.first ??= { call, outcome, thrown };
  if (note.first.call !== call) note.otherCall ??= call;
  throw note.first.thrown;
}

/** Returns the outcome of a handler that has returned: the noted one, `failed` after calls that differ, or `processed`. */
export function outcomeOfReturn(note: NotedOutcome): DispatchOutcome {
  note.isOver = true;
  const { first, otherCall } = note;
  if (first === undefined) return { code: "processed" };
  return otherCall === undefined ? first.outcome : conflicting(first.call, otherCall);
}

/** Returns the outcome of a handler that has thrown `error`: the noted one, if its call threw `error` or a cause of it, or `failed`. */
export function outcomeOfThrow(note: NotedOutcome, error: unknown): DispatchOutcome {
  note.isOver = true;
  const { first, otherCall } = note;
  if (first === undefined) return { code: "failed", error };
  if (otherCall !== undefined) return conflicting(first.call, otherCall, error);
  return comesFrom(error, first.thrown) ? first.outcome : { code: "failed", error };
}

const mostCauses = 20; // a cause may be its own cause

/** Whether `error` is `thrown`, or has it among its causes. */
function comesFrom(error: unknown, thrown: Error): boolean {
  let current = error;
  for (let depth = 0; depth <= mostCauses; depth++) {
    if (current === thrown) return true;
    current = readThrown(current, "cause");
  }
  return false;
}

function conflicting(first: string, other: string, cause?: unknown): DispatchOutcome {
  const error = new WebhookError(
    "conflicting_outcomes",
    `The handler called ${first}, and then ${other}.`,
    "Let the error of the first call end the handler: where you catch all errors, rethrow it if HandlerEnded.is(error).",
    { cause },
  );
  return { code: "failed", error };
}

const lateCall = "A handler ended its event after it was settled.";

/** Reports a call that comes too late, and returns the error for it. */
function tooLate({ id, source, type, logger }: NotedEvent, late: { readonly call: string }): WebhookError {
  const error = new WebhookError(
    "outcome_too_late",
    `A handler of ${type} called ${late.call} after its event was settled, so the call has no effect.`,
    "Await all that the handler starts, and stop when context.signal aborts.",
  );
  if (logger === silentLogger) warnOnce("outcome_too_late", lateCall, error);
  else logger.error({ id, source, type, err: error }, lateCall);
  return error;
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? String(value) : value === null ? "null" : typeof value;
}
