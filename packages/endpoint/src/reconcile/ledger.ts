import type { Ledger, RecordVerdict } from "@esim-webhooks/import";
import type { Backlog } from "./backlog.ts";

/** How many deliveries were listed, by what became of them: `listed` is the sum of all others. */
export interface ReconcileLedger extends Omit<Ledger, "read"> {
  readonly listed: number;
  /** The service will send them, so they are left alone. */
  readonly coming: number;
  /** All that they show is older than `since`. */
  readonly outOfRange: number;
  /** Read, but not handed over before the pass was interrupted. */
  readonly unsettled: number;
}

/** The stored events, by what the service says of them. In a dry run, only what was missed by its word. */
export interface Recovered {
  /** It could not deliver them, or would have tried again. */
  readonly missed: number;
  /** It was told that they had arrived: they were acknowledged, and lost. */
  readonly acknowledgedAndLost: number;
}

export interface OpenLedger {
  add(verdict: RecordVerdict): void;
  ledger(backlog: Backlog): ReconcileLedger;
  recovered(): Recovered;
}

/** Whether the service was told that the event had arrived, though it was not stored. */
export function isAcknowledgedAndLost({ fate, status }: RecordVerdict): boolean {
  return fate === "stored" && status === "delivered";
}

/** @param dryRun nothing is known of the target: what was delivered may be there */
export function openLedger(dryRun: boolean): OpenLedger {
  const fates = { stored: 0, duplicate: 0, conflict: 0, invalid: 0, filtered: 0, rejected: 0 };
  let settled = 0;
  let delivered = 0;
  return {
    add(verdict) {
      settled += 1;
      fates[verdict.fate] += 1;
      if (isAcknowledgedAndLost(verdict)) delivered += 1;
    },
    ledger({ listed, coming, outOfRange, ignored, leftOut }) {
      const filtered = fates.filtered + ignored;
      const rejected = fates.rejected + leftOut;
      const unsettled = listed - coming - outOfRange - ignored - leftOut - settled;
      return { listed, coming, outOfRange, ...fates, filtered, rejected, unsettled };
    },
    recovered: () => ({ missed: fates.stored - delivered, acknowledgedAndLost: dryRun ? 0 : delivered }),
  };
}
