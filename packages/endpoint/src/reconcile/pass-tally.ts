import { dateTimeMs } from "@esim-webhooks/core/internal";
import type { DeliveriesPage } from "../base/deliveries.ts";
import { newest, newestMs, occurredAtMs, refusedStatus, sentAtMs } from "../base/deliveries.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import type { ReconcileLedger, Recovered } from "./reconcile-report.ts";
import { createSelection, listedFields, mayHold, type SelectionOptions } from "./select-deliveries.ts";

/** A delivery that was passed to the target. */
export interface SettledDelivery {
  /** The webhook-id of its event; empty if it has none. */
  readonly id: string;
  readonly type: string | null;
  /** When its event occurred, in ms since the Unix epoch; NaN without a valid timestamp. */
  readonly occurredMs: number;
  /** Its status in the listing. */
  readonly status: string | null;
  /** The target's treatment of it, as the ledger counts it. */
  readonly fate: keyof Omit<ReconcileLedger, "listed" | "coming" | "outOfRange" | "unsettled">;
  /** Why it was not stored or handled: `failed` or `unstorable_id`, for instance. */
  readonly code?: string;
}

export interface TallyOptions extends Omit<SelectionOptions, "stillFailing"> {
  /** Whether the pass only reads. The target is then not asked, so no delivered event counts as lost. */
  readonly dryRun: boolean;
}

/** The counts of a pass so far: listed deliveries and their outcomes. */
export interface PassTally {
  /** Counts a page, and returns the deliveries to store or handle. */
  takePage(page: DeliveriesPage): readonly object[];
  /** Counts what the target did with a batch of them. */
  count(settled: readonly SettledDelivery[]): void;
  readonly pages: number;
  ledger(): ReconcileLedger;
  recovered(): Recovered;
  /** How many events later passes try again, because their handlers failed. */
  readonly failing: number;
  /** The ids of the first 20 events whose handlers failed. */
  readonly failed: readonly string[];
  /** When the oldest event occurred that holds the watermark back; Infinity if none does. */
  readonly oldestHolderMs: number;
  /** The earliest next attempt of an event that holds the watermark back, by the service or a pass; Infinity if none does. */
  readonly nextAttemptMs: number;
  /** The service's time of the newest attempt on the first page that shows one; NaN if none does. */
  readonly newestMs: number;
  /** When the service last sent a delivery that was answered 401; NaN if it lists none. */
  readonly refusedMs: number;
  /** The newest time that the oldest delivery shows; Infinity if no delivery shows a time. */
  readonly oldestMs: number;
  /** Whether the listing was read to its end. */
  readonly isWhole: boolean;
  /** The part of the state that later passes need. A full pass that has completed forgets the failed events that it has not seen. */
  remembered(isComplete: boolean): Pick<PassState, "ignored" | "failing">;
}

/** How many ids a report has of each kind. */
export const mostIds = 20;

/** How many types and failed events fit into the state, whose value has at most 64 KiB. The latest ones are kept. */
const mostTypes = 50;
const mostFailing = 1000; // if more events fail, passes try the others more often than necessary

/** The codes of failed handlers. Other codes say nothing about the event: another process is handling it, for instance. */
const failureCodes: ReadonlySet<string | undefined> = new Set(["failed", "deadline_reached"]);

/** Whether the service got an acknowledgement of the event, though the target did not have the event before this pass. */
export function isAcknowledgedAndLost({ fate, status }: SettledDelivery): boolean {
  return fate === "stored" && status === "delivered";
}

export function createPassTally(options: TallyOptions): PassTally {
  const { initialState, depth, includeComing, dryRun, nowMs } = options;
  const counts = {
    coming: 0,
    outOfRange: 0,
    stored: 0,
    duplicate: 0,
    conflict: 0,
    invalid: 0,
    filtered: 0,
    rejected: 0,
  };
  let listed = 0;
  let acknowledgedAndLost = 0;
  const ignoredMs = new Map(Object.entries(initialState.ignored));
  const stillFailing = new Set(depth === "full" ? [] : initialState.failing);
  const failed: string[] = [];
  const whyLeftOut = createSelection({ initialState, depth, includeComing, nowMs, stillFailing });
  const tally = {
    pages: 0,
    get failing() {
      return stillFailing.size;
    },
    failed,
    oldestHolderMs: Number.POSITIVE_INFINITY,
    nextAttemptMs: Number.POSITIVE_INFINITY,
    newestMs: Number.NaN,
    refusedMs: Number.NaN,
    oldestMs: Number.POSITIVE_INFINITY,
    isWhole: false,
    takePage,
    count,
    ledger,
    recovered: () => ({
      missed: counts.stored - acknowledgedAndLost,
      acknowledgedAndLost: dryRun ? 0 : acknowledgedAndLost,
    }),
    remembered,
  };

  function takePage({ deliveries, end }: DeliveriesPage): readonly object[] {
    tally.pages += 1;
    tally.isWhole = end === "listing";
    if (Number.isNaN(tally.newestMs)) tally.newestMs = newest(deliveries.map(sentAtMs));
    const wanted: object[] = [];
    for (const delivery of deliveries) {
      listed += 1;
      const shownMs = newestMs(delivery);
      if (shownMs < tally.oldestMs) tally.oldestMs = shownMs;
      if (delivery.httpStatus === refusedStatus)
        tally.refusedMs = newest([tally.refusedMs, sentAtMs(delivery)]);
      const why = whyLeftOut(delivery);
      if (why === undefined) wanted.push(listedFields(delivery));
      else counts[why] += 1;
      if (why === "coming") hold(occurredAtMs(delivery), dateTimeMs(delivery.nextRetryAt));
      if (why === "rejected") hold(occurredAtMs(delivery));
    }
    return wanted;
  }

  function hold(occurredMs: number, nextAttemptMs = nowMs): void {
    if (!mayHold(occurredMs, nowMs)) return;
    tally.oldestHolderMs = Math.min(tally.oldestHolderMs, occurredMs);
    tally.nextAttemptMs = Math.min(tally.nextAttemptMs, Number.isNaN(nextAttemptMs) ? nowMs : nextAttemptMs);
  }

  function count(settled: readonly SettledDelivery[]): void {
    for (const delivery of settled) {
      const { fate, id, occurredMs } = delivery;
      counts[fate] += 1;
      if (isAcknowledgedAndLost(delivery)) acknowledgedAndLost += 1;
      if (fate === "filtered") noteIgnored(delivery);
      if (fate === "rejected") {
        hold(occurredMs);
        if (failureCodes.has(delivery.code)) noteFailed(id);
      } else stillFailing.delete(shortHash(id));
    }
  }

  function noteIgnored({ type, occurredMs }: SettledDelivery): void {
    if (type === null || Number.isNaN(occurredMs)) return;
    const key = shortHash(type);
    const untilMs = Math.min(occurredMs, nowMs); // a timestamp may lie in the future
    ignoredMs.set(key, Math.max(untilMs, ignoredMs.get(key) ?? untilMs));
  }

  function noteFailed(id: string): void {
    if (failed.length < mostIds) failed.push(id);
    stillFailing.add(shortHash(id));
    if (stillFailing.size > mostFailing) stillFailing.delete(stillFailing.values().next().value as string);
  }

  function ledger(): ReconcileLedger {
    const settled = Object.values(counts).reduce((sum, each) => sum + each, 0);
    return { listed, ...counts, unsettled: listed - settled };
  }

  function remembered(isComplete: boolean): Pick<PassState, "ignored" | "failing"> {
    const unseen = depth === "full" && !isComplete ? initialState.failing : [];
    const latestTypes = [...ignoredMs].sort(([, one], [, other]) => one - other).slice(-mostTypes);
    return {
      ignored: Object.fromEntries(latestTypes),
      failing: [...new Set([...unseen, ...stillFailing])].slice(-mostFailing),
    };
  }

  return tally;
}
