import type { Channel } from "node:diagnostics_channel";
import { type Logger, silentLogger } from "../base/logger.ts";
import { createNotice } from "../base/trace.ts";
import type { TraceIds } from "../base/tracer.ts";
import type { EventKey } from "../event/event.ts";
import type { FailureReason } from "../store/history.ts";

/** The end of a lease or a claim on an event. On `esim-webhooks:settle`, once the store has answered or was given up. */
export interface SettleMessage extends EventKey {
  /** Absent when the body is not an envelope. */
  readonly type?: string;
  /** Who had the event: a worker, which took it from an inbox, or a processor, which handled it as it arrived. */
  readonly by: "worker" | "processor";
  /** The number of this try, from 1. */
  readonly attempt: number;
  /**
   * - `done`: never to run again
   * - `unhandled`: it has no handler, and the inbox keeps it
   * - `retry`: a worker tries it again in `afterMs`; inline, the next delivery does
   * - `dead`: not tried again until an operator redrives it
   * - `given_back`: the worker stops, or the lease ended before the handler could start; the attempt does not count
   * - `lost`: the lease ended before the result was stored, and the result is discarded
   * - `store_unavailable`: the store could not store the result, and the lease ends by itself
   */
  readonly outcome: "done" | "unhandled" | "retry" | "dead" | "given_back" | "lost" | "store_unavailable";
  /** How long a worker waits before the next try, in ms. */
  readonly afterMs?: number;
  /** Why the attempt failed. */
  readonly reason?: FailureReason;
  /** When the event was accepted. */
  readonly receivedAt: Date;
  /** From `receivedAt` to this end, in ms, by the clock of this machine. */
  readonly ageMs: number;
  /** For how long the event was due before the worker took it, in ms. Absent if a processor had it, and on BullMQ for a retry. */
  readonly waitMs?: number;
  /** From the take or the claim to this end, in ms. */
  readonly durationMs: number;
  /** Why the store could not store the result; if the event is dead, what was thrown at the last attempt. */
  readonly error?: unknown;
}

/** For `ageMs`: 0 for an event that another machine's clock received in the future. */
export function ageOf(receivedAt: Date): number {
  return Math.max(0, Date.now() - receivedAt.getTime());
}

export const settleNotice: Channel<unknown, SettleMessage> = createNotice("settle");

/** What the log line of a settlement has that its message has not. */
export interface SettledLine {
  /** The handler has asked for the retry, so nothing has failed. */
  readonly isWaiting?: boolean;
  /** If the event is dead: why, in words. Left out where `err` says it. */
  readonly cause?: string | undefined;
  /** What was thrown. Default: the error of the message. */
  readonly err?: unknown;
  /** The span of its handler. Undefined: none ran. */
  readonly spanIds?: TraceIds | undefined;
}

/** Whether a settlement is seen: those who report it make no message otherwise. */
export function isSettlementSeen(logger: Logger): boolean {
  return logger !== silentLogger || settleNotice.hasSubscribers;
}

const levels: Readonly<Record<SettleMessage["outcome"] | "waiting", "info" | "warn" | "error">> = {
  done: "info",
  unhandled: "info", // its type is warned of once
  retry: "warn",
  waiting: "info",
  given_back: "info",
  dead: "error",
  lost: "warn",
  store_unavailable: "error",
};

/** Publishes how a lease or a claim ended, and logs it. Every settlement comes through here, once. */
export function reportSettled(logger: Logger, message: SettleMessage, line: SettledLine = {}): void {
  if (settleNotice.hasSubscribers) settleNotice.publish(message);
  if (logger === silentLogger) return;
  const { source, id, type, attempt, reason, afterMs, durationMs, waitMs } = message;
  const outcome = message.outcome === "retry" && line.isWaiting ? "waiting" : message.outcome;
  const { cause, err = message.error, spanIds } = line;
  logger[levels[outcome]](
    {
      source,
      id,
      ...(type !== undefined && { type }),
      attempt,
      outcome,
      ...(reason !== undefined && { reason }),
      ...(outcome === "dead" && { ...(cause !== undefined && { cause }), remedy: remedyOf(reason) }),
      ...(afterMs !== undefined && { afterMs: Math.round(afterMs) }),
      durationMs: Math.round(durationMs),
      ...(waitMs !== undefined && { waitMs: Math.round(waitMs) }),
      ...spanIds,
      ...(err !== undefined && { err }),
    },
    "webhook event",
  );
}

function remedyOf(reason: FailureReason | undefined): string {
  const first = reason === "unhandled" ? "Add a handler" : "Fix the cause";
  return `${first}, then redrive it: esim-webhooks inbox retry.`;
}
