import type { WebhookDelivery } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { RawRecord, RecordVerdict } from "@esim-webhooks/import";
import type { DeliveriesPage } from "../base/deliveries.ts";
import { newest, newestMs, occurredAtMs, sentAtMs, servicePlanOf } from "../base/deliveries.ts";
import type { PassPlan } from "./claim-pass.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import type { ReconcileLedger, Recovered } from "./reconcile-report.ts";

export interface ProgressOptions extends PassPlan {
  /** Whether to recover what is still coming, too. */
  readonly includeComing: boolean;
  /** Nothing is known of the target: what was delivered may be there. */
  readonly dryRun: boolean;
  /** About the time of the service. */
  readonly nowMs: number;
}

/** What a pass has seen so far: each delivery of the listing, and what became of it. */
export interface PassProgress {
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

/**
 * How long after it occurred an event can be coming, and hold the watermark (`PassState.mark`), in ms. The service's last attempt is
 * within 16 hours, though its documentation also says 24. An older event that is still coming is recovered: its endpoint is inactive, for
 * instance. An older event whose handler fails is left to full passes.
 */
const longestHoldMs = 24 * 60 * 60_000;

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

export function createProgress(options: ProgressOptions): PassProgress {
  const { begun, depth, includeComing, dryRun, nowMs } = options;
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
  let delivered = 0;
  const ignoredMs = new Map(Object.entries(begun.ignored));
  const stillFailing = new Set(depth === "full" ? [] : begun.failing);
  const failed: string[] = [];
  const progress = {
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
      missed: counts.stored - delivered,
      acknowledgedAndLost: dryRun ? 0 : delivered,
    }),
    remembered,
  };

  function takePage({ deliveries, end }: DeliveriesPage): readonly RawRecord[] {
    progress.pages += 1;
    progress.isWhole = end === "listing";
    if (Number.isNaN(progress.newestMs)) progress.newestMs = newest(deliveries.map(sentAtMs));
    const records: RawRecord[] = [];
    for (const delivery of deliveries) {
      listed += 1;
      const shownMs = newestMs(delivery);
      if (shownMs < progress.oldestMs) progress.oldestMs = shownMs;
      const why = whyLeftOut(delivery, shownMs);
      if (why === undefined) records.push(recordOf(delivery, listed));
      else counts[why] += 1;
      if (why === "coming") hold(occurredAtMs(delivery), dateTimeMs(delivery.nextRetryAt));
      if (why === "rejected") hold(occurredAtMs(delivery));
    }
    return records;
  }

  function whyLeftOut(delivery: WebhookDelivery, shownMs: number): keyof typeof counts | undefined {
    if (shownMs < begun.since) return "outOfRange";
    if (!includeComing && isComing(delivery)) return "coming";
    if (wasIgnored(delivery)) return "filtered";
    return isNotTriedNow(delivery) ? "rejected" : undefined;
  }

  // an event without a valid timestamp is invalid whenever it arrives, and nothing shows for how long it has been coming
  function isComing(delivery: WebhookDelivery): boolean {
    return servicePlanOf(delivery) === "coming" && mayHold(occurredAtMs(delivery));
  }

  /** Whether it was acknowledged when its type had no handler. An event that did not arrive was not ignored. */
  function wasIgnored(delivery: WebhookDelivery): boolean {
    const { eventType } = delivery;
    if (eventType === null || servicePlanOf(delivery) !== "delivered") return false;
    const untilMs = begun.ignored[shortHash(eventType)];
    return untilMs !== undefined && occurredAtMs(delivery) <= untilMs;
  }

  /** Failed handlers run again in passes to the watermark while the event holds it, and in full passes. */
  function isNotTriedNow(delivery: WebhookDelivery): boolean {
    if (stillFailing.size === 0 || depth === "full" || delivery.eventId === null) return false;
    const isTried = depth === "watermark" && mayHold(occurredAtMs(delivery));
    return !isTried && stillFailing.has(shortHash(delivery.eventId));
  }

  function mayHold(occurredMs: number): boolean {
    return occurredMs >= nowMs - longestHoldMs;
  }

  function hold(occurredMs: number, nextAttemptMs = nowMs): void {
    if (!mayHold(occurredMs)) return;
    progress.heldMs = Math.min(progress.heldMs, occurredMs);
    progress.nextAttemptMs = Math.min(
      progress.nextAttemptMs,
      Number.isNaN(nextAttemptMs) ? nowMs : nextAttemptMs,
    );
  }

  function count(verdicts: readonly RecordVerdict[]): void {
    for (const verdict of verdicts) {
      const { fate, id, occurredMs } = verdict;
      counts[fate] += 1;
      if (isAcknowledgedAndLost(verdict)) delivered += 1;
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
    const unseen = depth === "full" && !isComplete ? begun.failing : [];
    const latestTypes = [...ignoredMs].sort(([, one], [, other]) => one - other).slice(-mostTypes);
    return {
      ignored: Object.fromEntries(latestTypes),
      failing: [...new Set([...unseen, ...stillFailing])].slice(-mostFailing),
    };
  }

  return progress;
}

/**
 * A delivery as a record, with the number of its place. It has only the fields that the documentation of the listing names: the
 * import would take others for those of a captured request. The answer of the endpoint is left out.
 */
function recordOf(delivery: WebhookDelivery, record: number): RawRecord {
  const { eventId, eventType, payload, status, attemptNumber, httpStatus, nextRetryAt, sentAt, deliveredAt } =
    delivery;
  return {
    position: { record },
    value: {
      eventId,
      eventType,
      payload,
      status,
      attemptNumber,
      httpStatus,
      nextRetryAt,
      sentAt,
      deliveredAt,
    },
  };
}
