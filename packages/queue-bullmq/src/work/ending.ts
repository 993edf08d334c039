import type { EventOutcome } from "@esim-webhooks/core";
import type { Ending } from "@esim-webhooks/core/engine";
import { maskPersonalData } from "@esim-webhooks/core/masking";
import { UnrecoverableError } from "bullmq";

/** The value that a job returns to BullMQ, which shows it: how its event ended. */
export interface JobResult {
  /** `duplicate` and `conflict`: it was done before, so no handler ran. */
  readonly outcome: "processed" | "discarded" | "duplicate" | "conflict";
  /** Why the handler discarded it. */
  readonly reason?: string;
}

/** The result of the job of an event that is done. */
export function resultOf(outcome: EventOutcome): JobResult {
  if (outcome.code === "discarded")
    return { outcome: outcome.code, reason: maskPersonalData(outcome.reason) };
  return { outcome: outcome.code as JobResult["outcome"] };
}

/** The pause after which a job is tried again while the store is unreachable, or another owner has its event. */
const pauseMs = 5000;

/** When the job is tried again without an attempt spent, in ms. */
export function delayOf(ending: Exclude<Ending, { state: "done" | "unhandled" | "retry" | "dead" }>): number {
  return "afterMs" in ending ? (ending.afterMs ?? pauseMs) : pauseMs;
}

/** The error with which a job fails: the one that its handler threw, or one that BullMQ does not retry. */
export function errorOf(ending: Extract<Ending, { state: "retry" | "dead" }>): unknown {
  if ("thrown" in ending) return ending.thrown;
  const message = ending.cause ?? `${ending.reason}: ${ending.error}`;
  return Object.assign(new UnrecoverableError(message), { stack: "" }); // frames of this package would help no reader
}
