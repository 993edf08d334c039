import type { GaugeCount, InboxGauges } from "@esim-webhooks/core";

/** Several gauges as one. `isMore`: there are more than `value`, since the count of one gauge stopped at its limit. */
export interface GaugeSum {
  readonly value: number;
  readonly isMore: boolean;
}

const waits: readonly GaugeCount[] = ["ready", "waiting", "blocked", "paused", "leased"];

/** How many events are not settled yet: those that wait, and those that a worker has. */
export function pendingEvents({ counts, capped }: Pick<InboxGauges, "counts" | "capped">): GaugeSum {
  return {
    value: waits.reduce((sum, name) => sum + counts[name], 0),
    isMore: waits.some((name) => capped.includes(name)),
  };
}
