import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { RawRecord, RecordVerdict } from "@esim-webhooks/import";
import type { DeliveriesPage } from "../base/deliveries.ts";
import { newest, newestMs, occurredAtMs, sentAtMs } from "../base/deliveries.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import type { ReconcileLedger, Recovered } from "./reconcile-report.ts";
import { createSelection, mayHold, recordOf, type SelectionOptions } from "./select-deliveries.ts";

export interface TallyOptions extends Omit<SelectionOptions, "stillFailing"> {
  /** Nothing is known of the target: what was delivered may be there. */
  readonly dryRun: boolean;
}

/** What a pass has seen so far: counts of the listed deliveries, and of what became of them. */
export interface PassTally {
  /** Counts a page, and returns the deliveries to store or handle, as records for `replayRecords`. */
  takePage(page: DeliveriesPage): readonly RawRecord[];
  /** Counts what the target did with a batch of them. */
  count(verdicts: readonly RecordVerdict[]): void;
  readonly pages: number;
  ledger(): ReconcileLedger;
  recovered(): Recovered;
  /** How many events later passes try again, because their handlers failed. */
  readonly failing: number;
  /** The ids of the first 20 events whose handlers failed. */
  readonly failed: readonly string[];
  /** When the oldest event occurred that holds the watermark back; Infinity if none does. */
  readonly heldMs: number;
  /** When the first of these events is attempted again; Infinity if none holds it back. */
  readonly nextAttemptMs: number;
  /** The service's time of the newest attempt on the first page that shows one; NaN if none does. */
  readonly newestMs: number;
  /** The newest time of the delivery that is the oldest by it; Infinity if none shows a time. */
  readonly oldestMs: number;
  /** Whether the listing was read to its end. */
  readonly isWhole: boolean;
  /** What later passes have to know. A full pass that has completed forgets the failed events that it has not seen. */
  remembered(isComplete: boolean): Pick<PassState, "ignored" | "failing">;
}

/** How many ids a report has of each kind. */
export const mostIds = 20;

/** How many fit into the state, whose value has at most 64 KiB. The latest ones are kept. */
const mostTypes = 50;
const mostFailing = 1000; // passes try the others more often than they have to

/** The codes of failed handlers. The others say nothing about the event: another process is handling it, for instance. */
const failureCodes: ReadonlySet<string | undefined> = new Set(["failed", "deadline_reached"]);

/** Whether the service got an acknowledgement of the event, though it was not stored. */
export function isAcknowledgedAndLost({ fate, status }: RecordVerdict): boolean {
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
    heldMs: Number.POSITIVE_INFINITY,
    nextAttemptMs: Number.POSITIVE_INFINITY,
    newestMs: Number.NaN,
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

  function takePage({ deliveries, end }: DeliveriesPage): readonly RawRecord[] {
    tally.pages += 1;
    tally.isWhole = end === "listing";
    if (Number.isNaN(tally.newestMs)) tally.newestMs = newest(deliveries.map(sentAtMs));
    const records: RawRecord[] = [];
    for (const delivery of deliveries) {
      listed += 1;
      const shownMs = newestMs(delivery);
      if (shownMs < tally.oldestMs) tally.oldestMs = shownMs;
      const why = whyLeftOut(delivery);
      if (why === undefined) records.push(recordOf(delivery, listed));
      else counts[why] += 1;
      if (why === "coming") hold(occurredAtMs(delivery), dateTimeMs(delivery.nextRetryAt));
      if (why === "rejected") hold(occurredAtMs(delivery));
    }
    return records;
  }

  function hold(occurredMs: number, nextAttemptMs = nowMs): void {
    if (!mayHold(occurredMs, nowMs)) return;
    tally.heldMs = Math.min(tally.heldMs, occurredMs);
    tally.nextAttemptMs = Math.min(tally.nextAttemptMs, Number.isNaN(nextAttemptMs) ? nowMs : nextAttemptMs);
  }

  function count(verdicts: readonly RecordVerdict[]): void {
    for (const verdict of verdicts) {
      const { fate, id, occurredMs } = verdict;
      counts[fate] += 1;
      if (isAcknowledgedAndLost(verdict)) acknowledgedAndLost += 1;
      if (fate === "filtered") noteIgnored(verdict);
      if (fate === "rejected") {
        hold(occurredMs);
        if (failureCodes.has(verdict.code)) noteFailed(id);
      } else if (stillFailing.size > 0) {
        stillFailing.delete(shortHash(id));
      }
    }
  }

  function noteIgnored({ type, occurredMs }: RecordVerdict): void {
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
