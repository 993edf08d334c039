import type { ReconcileLedger, Recovered } from "./ledger.ts";

/** A stretch of time. Date-times in UTC. */
export interface Stretch {
  readonly from: string;
  readonly to: string;
}

/** The result of a pass. Plain JSON. */
export interface ReconcileReport {
  /** The name of the pass. An inbox keeps it with the events, as `replay.run`. */
  readonly run: string;
  readonly endpoint: string;
  readonly source: string;
  /** Nothing was changed: `stored` counts what would be handed over, and no duplicates are known. */
  readonly dryRun: boolean;
  /** The signal aborted: the next pass continues. */
  readonly interrupted: boolean;
  /** How many pages of the listing were read. */
  readonly pages: number;
  readonly ledger: ReconcileLedger;
  readonly recovered: Recovered;
  /** How many events later passes try again: their handlers failed, or did not run because another process was handling them. */
  readonly failing: number;
  /** How many events this pass has tried for the ninth and last time. */
  readonly givenUp: number;
  /** Webhook-ids to look into, the first 20 of each kind. */
  readonly ids: {
    readonly acknowledgedAndLost: readonly string[];
    readonly givenUp: readonly string[];
    /** Of records that cannot be brought in, and that no earlier pass has reported. */
    readonly invalid: readonly string[];
    /** Of events whose id no store can hold, likewise: escaped, and without their end. */
    readonly unstorable: readonly string[];
  };
  /** The time of the events that the service has forgotten before they were settled: support cannot replay them either. */
  readonly lost: Stretch | null;
  /** The watermark after this pass. */
  readonly mark: string;
}
