import { createStage, type Stage, type StageMessage } from "../base/trace.ts";
import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { WorkerLease } from "./leases.ts";
import type { RunResult } from "./run-event.ts";

/** A worker's call of the inbox's `take`. On `tracing:esim-webhooks:take:*`. */
export interface TakeMessage extends StageMessage {
  /** The most events that the worker could start. */
  readonly limit: number;
  /** How many events were taken; 0 when none was due. Absent when the inbox did not answer. */
  readonly taken?: number;
  readonly outcome: "taken" | "store_unavailable";
}

export const takeStage: Stage<TakeMessage, "taken"> = createStage("take", "store_unavailable");

/** Publishes how a worker's lease ended; `error` when the inbox did not answer. */
export function publishSettled(lease: WorkerLease, ending: RunResult | { readonly error: unknown }): void {
  if (!settleNotice.hasSubscribers) return;
  const { taken, takenAt, type } = lease;
  const { source, id, attempt } = taken;
  const durationMs = performance.now() - takenAt;
  settleNotice.publish({ source, id, ...(type && { type }), attempt, ...endingFields(ending), durationMs });
}

function endingFields(
  ending: Parameters<typeof publishSettled>[1],
): Pick<SettleMessage, "outcome" | "afterMs" | "reason" | "error"> {
  if (ending === "committed") return { outcome: "done" };
  if (ending === "lost") return { outcome: "lost" };
  if (!("settlement" in ending)) return { outcome: "store_unavailable", ...ending };
  const { settlement, ...dead } = ending;
  switch (settlement.state) {
    case "ready":
      return { outcome: "retry", afterMs: settlement.afterMs };
    case "untouched":
      return { outcome: "given_back" };
    default:
      return { outcome: settlement.state, ...dead };
  }
}
