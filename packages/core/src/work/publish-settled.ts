import { type SettleMessage, settleNotice } from "../handle/settle-notice.ts";
import type { WorkerLease } from "./leases.ts";
import type { RunResult } from "./run-event.ts";

/** Publishes how a worker's lease ended; `error` when the inbox did not answer. */
export function publishSettled(lease: WorkerLease, ending: RunResult | { readonly error: unknown }): void {
  if (!settleNotice.hasSubscribers) return;
  const { taken, takenAt, type } = lease;
  const { source, id, attempt } = taken;
  const durationMs = performance.now() - takenAt;
  settleNotice.publish({ source, id, ...(type && { type }), attempt, ...outcomeOf(ending), durationMs });
}

function outcomeOf(
  ending: Parameters<typeof publishSettled>[1],
): Pick<SettleMessage, "outcome" | "afterMs" | "error"> {
  if (ending === "committed") return { outcome: "done" };
  if (ending === "lost") return { outcome: "lost" };
  if (!("state" in ending)) return { outcome: "store_unavailable", ...ending };
  switch (ending.state) {
    case "ready":
      return { outcome: "retry", afterMs: ending.afterMs };
    case "untouched":
      return { outcome: "given_back" };
    default:
      return { outcome: ending.state };
  }
}
