import { type SettleMessage, settleNotice } from "../handle/stages.ts";
import type { WorkerLease } from "./leases.ts";
import type { RunResult } from "./run-event.ts";

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
