import type { Channel } from "node:diagnostics_channel";
import { type Logger, silentLogger } from "../base/logger.ts";
import { createNotice } from "../base/trace.ts";
import type { TraceIds } from "../base/tracer.ts";
import type { EventKey } from "../event/event.ts";
import type { Ending } from "../store/ending.ts";
import { readErrorText } from "../store/error-text.ts";
import type { FailureReason } from "../store/history.ts";

/** The end of a lease or a claim on an event. Published on `esim-webhooks:settle`, once the store has answered or was given up. */
export interface SettleMessage extends EventKey {
  /** Absent when the body is not an envelope. */
  readonly type?: string;
  /** Who had the event: a worker, which took it from an inbox, or a processor, also that of BullMQ or of your own queue. */
  readonly by: "worker" | "processor";
  /** The number of this attempt, from 1. */
  readonly attempt: number;
  /**
   * - `done`: never to run again
   * - `unhandled`: it has no handler, and the inbox keeps it
   * - `retry`: its attempt failed. A worker tries it again in `afterMs`; inline, the next delivery does
   * - `waiting`: its handler asked for a retry, with `retryLater`
   * - `dead`: not tried again until an operator redrives it
   * - `given_back`: as if it had not been taken: the worker stops, the lease or the deadline ended before the handler could start, or an
   *   abandoned handler of the event still runs
   * - `lost`: the lease or claim ended before the result was stored, and the result is discarded
   * - `store_unavailable`: the store could not store the result, and the lease or claim ends by itself
   */
  readonly outcome: Ending["state"];
  /** How long a worker waits before the next try, in ms. */
  readonly afterMs?: number;
  /** Why the attempt failed. */
  readonly reason?: FailureReason;
  /** When the event was received, as in `context.receivedAt`. */
  readonly receivedAt: Date;
  /** From `receivedAt` to this end, in ms, by the clock of this machine. */
  readonly ageMs: number;
  /** For how long the event was due before it was taken, in ms. Absent if it was handled as it arrived, and on BullMQ for a retry. */
  readonly waitMs?: number;
  /** From the take or the claim to this end, in ms. */
  readonly durationMs: number;
  /** Why the store could not store the result; if the event is dead, what was thrown at the last attempt. */
  readonly error?: unknown;
}

export const settleNotice: Channel<unknown, SettleMessage> = createNotice("settle");

/** Whether a settlement is logged or observed. Otherwise no message is made. */
export function isSettlementSeen(logger: Logger): boolean {
  return logger !== silentLogger || settleNotice.hasSubscribers;
}

const levels: Readonly<Record<Ending["state"], "info" | "warn" | "error">> = {
  done: "info",
  unhandled: "info", // a warning about its type is logged once
  retry: "warn",
  waiting: "info",
  given_back: "info",
  dead: "error",
  lost: "warn",
  store_unavailable: "error",
};

/** The event and its owner: the part of a settlement that its ending does not have. */
export type EndedFacts = Omit<SettleMessage, "outcome" | "afterMs" | "reason" | "error" | "ageMs">;

/** Publishes how a lease or a claim ended, and logs it with the span of its handler, if one ran. Every ending comes through here, once. */
export function reportEnding(logger: Logger, ending: Ending, facts: EndedFacts, spanIds?: TraceIds): void {
  const { source, id, type, attempt, durationMs, waitMs } = facts;
  const outcome = ending.state;
  // inline, the next delivery decides
  const afterMs = facts.by === "worker" && "afterMs" in ending ? ending.afterMs : undefined;
  const reason = "reason" in ending && { reason: ending.reason };
  if (settleNotice.hasSubscribers)
    settleNotice.publish({
      ...facts,
      outcome,
      ...reason,
      ...(afterMs !== undefined && { afterMs }),
      ageMs: Math.max(0, Date.now() - facts.receivedAt.getTime()), // another machine's clock may be ahead
      ...errorOf(ending),
    });
  if (logger === silentLogger) return;
  const err = "thrown" in ending ? ending.thrown : errorOf(ending).error;
  logger[levels[outcome]](
    {
      source,
      id,
      ...(type !== undefined && { type }),
      attempt,
      outcome,
      ...reason,
      ...(ending.state === "dead" && {
        cause: ending.cause ?? readErrorText(ending.error).error,
        remedy: remedyOf(ending.reason),
      }),
      ...(afterMs !== undefined && { afterMs: Math.round(afterMs) }),
      durationMs: Math.round(durationMs),
      ...(waitMs !== undefined && { waitMs: Math.round(waitMs) }),
      ...spanIds,
      ...(err !== undefined && { err }),
    },
    "webhook event",
  );
}

/** Returns the message's `error`: why the result was not stored, or, for a dead event, what was thrown. */
function errorOf(ending: Ending): { readonly error?: unknown } {
  if (ending.state === "store_unavailable") return { error: ending.error };
  return ending.state === "dead" && "thrown" in ending ? { error: ending.thrown } : {};
}

function remedyOf(reason: FailureReason): string {
  const first = reason === "unhandled" ? "Add a handler" : "Fix the cause";
  return `${first}, then retry it: esim-webhooks inbox retry.`;
}
