import type { EndpointGap } from "./endpoint-gaps.ts";
import type { SupportReplayArrivals } from "./support-replay-watch.ts";

/** How many deliveries were listed, by what became of them: `listed` is the sum of all others. */
export interface ReconcileLedger {
  /** How many deliveries the listing had. */
  readonly listed: number;
  /** The service will send them, so the pass skips them. */
  readonly coming: number;
  /** All times that they show are older than `since`. */
  readonly outOfRange: number;
  /** The target did not have them: they are stored or handled now. */
  readonly stored: number;
  /** Already stored or done. */
  readonly duplicate: number;
  /** Already stored or done with another body, which stays. */
  readonly conflict: number;
  /** Not valid events; with handlers, also those that do not match their schema. */
  readonly invalid: number;
  /** Their types have no handler, or had none when the events were acknowledged. */
  readonly filtered: number;
  /** Their handlers did not succeed, in this pass or before, or another process is handling them. */
  readonly rejected: number;
  /** Read, but not stored or handled before the pass was interrupted. */
  readonly unsettled: number;
}

/** The stored events, by what the service says of them. In a dry run, only those that it reports as missed. */
export interface Recovered {
  /** How many events the service could not deliver, or would have tried again. */
  readonly missed: number;
  /** How many events the service reports as arrived: they were acknowledged, and lost. */
  readonly acknowledgedAndLost: number;
}

/** A period of time. Date-times in UTC. */
export interface Period {
  /** Its beginning. */
  readonly from: string;
  /** Its end, inclusive. */
  readonly to: string;
}

/** The result of a pass. Plain JSON. */
export interface ReconcileReport {
  /** The name of the pass. An inbox keeps it with the events, as `replay.run`. */
  readonly run: string;
  /** The reference of the endpoint whose deliveries were listed. */
  readonly endpoint: string;
  /** The source of its events. */
  readonly source: string;
  /** Whether nothing was changed: then `stored` counts what would be stored or handled, and duplicates are not known. */
  readonly dryRun: boolean;
  /** Whether the signal aborted: then the next pass continues. */
  readonly interrupted: boolean;
  /** How many pages of the listing were read. */
  readonly pages: number;
  /** The outcomes of the deliveries. */
  readonly ledger: ReconcileLedger;
  /** How many events were recovered, by what the service reports of them. */
  readonly recovered: Recovered;
  /** How many events later passes try again, because their handlers failed in this pass or an earlier one. At most 1,000 are counted. */
  readonly failing: number;
  /** Webhook-ids to look into, the first 20 of each kind. */
  readonly ids: {
    /** Ids of lost events that were not reported in the last day. */
    readonly acknowledgedAndLost: readonly string[];
    /** Ids of events whose handlers failed in this pass. */
    readonly failed: readonly string[];
    /** Ids of records that are not valid events, and that no earlier pass has reported. */
    readonly invalid: readonly string[];
    /** Ids that no store can hold, and that no earlier pass has reported: escaped, and shortened. */
    readonly unstorable: readonly string[];
  };
  /** The period whose events the service has forgotten before they were settled: support cannot replay them either. */
  readonly lost: Period | null;
  /**
   * The periods in which the endpoint was inactive, or not subscribed to some of `eventTypes`; the latter once they have ended. A gap that has
   * ended is reported for 7 days, unless `acknowledgeGaps` ends that. Empty: passes have seen none. Null: no earlier pass has looked.
   */
  readonly gaps: readonly EndpointGap[] | null;
  /** The events of the last `requestSupportReplay` that have arrived. Null: there was none in the last 7 days. */
  readonly supportReplay: SupportReplayArrivals | null;
  /**
   * When the service last sent one of the listed deliveries and got a 401, by its clock: it does not send such a delivery again. Null: no
   * listed delivery was answered 401.
   */
  readonly refusedAt: string | null;
  /** The watermark after this pass, as docs/reconcile.md defines it. */
  readonly mark: string;
}
