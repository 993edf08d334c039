import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import type { RawRecord } from "@esim-webhooks/import";
import { fateOf, newest, newestMs, occurredAtMs, readDeliveries, sentAtMs } from "../base/deliveries.ts";
import { recordOf } from "./delivery-record.ts";

export interface BacklogOptions {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly endpoint: string;
  /** Pages are read down to this time. */
  readonly untilMs: number;
  /** Deliveries that are older than this are out of range. */
  readonly sinceMs: number;
  /** Whether to bring in what is still coming, too. */
  readonly includeComing: boolean;
  /** Whether an event was ignored when it arrived. */
  readonly isIgnored: (delivery: WebhookDelivery) => boolean;
  /** Whether to leave an event out, because its handler has failed in a pass before this one. */
  readonly leavesOut: (id: string, occurredMs: number) => boolean;
  /** About the time of the service. */
  readonly nowMs: number;
  readonly signal: AbortSignal | undefined;
  readonly onPage: () => void;
}

/** What the listing has shown so far. */
export interface Backlog {
  /** The deliveries to bring in, by pages. Read it once. */
  records(): AsyncGenerator<readonly RawRecord[]>;
  readonly pages: number;
  readonly listed: number;
  readonly coming: number;
  readonly outOfRange: number;
  readonly ignored: number;
  readonly leftOut: number;
  /** When the oldest event occurred that is still coming; Infinity if none is. */
  readonly oldestComingMs: number;
  /** The service's time of the newest attempt on the first page that shows one; NaN if none does. */
  readonly newestMs: number;
  /** The newest time of the delivery that is the oldest by it; Infinity if none shows a time. */
  readonly oldestMs: number;
  /** Whether the listing was read to its end. */
  readonly isWhole: boolean;
}

/**
 * How long after its event a delivery can be coming, in ms. The service's last attempt is within 16 hours; its documentation also
 * says 24. What is older waits for nothing: its endpoint is inactive, for instance.
 */
const longestComingMs = 24 * 60 * 60_000;

/** Reads the listing from the top, and sorts out what is not to be brought in. */
export function openBacklog(options: BacklogOptions): Backlog {
  const { api, endpoint, untilMs, sinceMs, includeComing, isIgnored, leavesOut, nowMs, signal, onPage } =
    options;
  const backlog = {
    pages: 0,
    listed: 0,
    coming: 0,
    outOfRange: 0,
    ignored: 0,
    leftOut: 0,
    oldestComingMs: Number.POSITIVE_INFINITY,
    newestMs: Number.NaN,
    oldestMs: Number.POSITIVE_INFINITY,
    isWhole: false,
    records,
  };

  async function* records(): AsyncGenerator<readonly RawRecord[]> {
    for await (const page of readDeliveries(api, endpoint, { until: new Date(untilMs), signal })) {
      backlog.pages += 1;
      if (Number.isNaN(backlog.newestMs)) backlog.newestMs = newest(page.deliveries.map(sentAtMs));
      const missing = page.deliveries.flatMap(sort);
      backlog.isWhole = page.end === "listing";
      onPage();
      yield missing;
    }
  }

  function sort(delivery: WebhookDelivery): readonly RawRecord[] {
    backlog.listed += 1;
    const shownMs = newestMs(delivery);
    if (shownMs < backlog.oldestMs) backlog.oldestMs = shownMs;
    if (shownMs < sinceMs) {
      backlog.outOfRange += 1;
    } else if (!includeComing && isComing(delivery)) {
      backlog.coming += 1;
      backlog.oldestComingMs = Math.min(backlog.oldestComingMs, occurredAtMs(delivery));
    } else if (isIgnored(delivery)) {
      backlog.ignored += 1;
    } else if (delivery.eventId !== null && leavesOut(delivery.eventId, occurredAtMs(delivery))) {
      backlog.leftOut += 1;
    } else {
      return [recordOf(delivery, backlog.listed)];
    }
    return [];
  }

  // an event without a valid timestamp is invalid whenever it comes, and nothing shows for how long it has been coming
  function isComing(delivery: WebhookDelivery): boolean {
    return fateOf(delivery) === "coming" && occurredAtMs(delivery) >= nowMs - longestComingMs;
  }

  return backlog;
}
