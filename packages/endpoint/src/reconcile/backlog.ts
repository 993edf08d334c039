import type { ApiClient, WebhookDelivery } from "@esim-webhooks/client";
import type { RawRecord } from "@esim-webhooks/import";
import { fateOf } from "../listing/delivery-fate.ts";
import { newest, newestMs, occurredAtMs, sentAtMs } from "../listing/delivery-times.ts";
import { readDeliveries } from "../listing/read-deliveries.ts";
import { recordOf } from "./delivery-record.ts";

export interface BacklogOptions {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly endpoint: string;
  /** Pages are read down to this time. */
  readonly untilMs: number;
  /** What is older than this was settled before. At least `untilMs`. */
  readonly settledMs: number;
  /** Deliveries that are older than this are out of range. */
  readonly sinceMs: number;
  /** Whether to bring in what is still coming, too. */
  readonly includeComing: boolean;
  /** Whether to leave an event out, because its handler has failed in a pass before this one. */
  readonly leavesOut: (id: string, occurredMs: number) => boolean;
  /** About the time of the service. It is later if the listing shows a later one. */
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
  readonly leftOut: number;
  /** When the oldest delivery that is still coming occurred; Infinity if none is, -Infinity if one does not show it. */
  readonly oldestComingMs: number;
  /** The service's time of the newest attempt on the first page that shows one; NaN if none does. */
  readonly newestMs: number;
  /** Whether the listing ended before it showed anything older than `settledMs`. */
  readonly endedEarly: boolean;
}

/**
 * How long after its event a delivery can be coming, in ms. The service's last attempt is within 16 hours; its documentation also
 * says 24. What is older waits for nothing: its endpoint is inactive, for instance.
 */
const longestComingMs = 24 * 60 * 60_000;

/** Reads the listing from the top, and sorts out what is not to be brought in. */
export function openBacklog(options: BacklogOptions): Backlog {
  const { api, endpoint, untilMs, settledMs, sinceMs, includeComing, leavesOut, nowMs, signal, onPage } =
    options;
  const backlog = {
    pages: 0,
    listed: 0,
    coming: 0,
    outOfRange: 0,
    leftOut: 0,
    oldestComingMs: Number.POSITIVE_INFINITY,
    newestMs: Number.NaN,
    endedEarly: false,
    records,
  };
  let showedSettled = false;

  async function* records(): AsyncGenerator<readonly RawRecord[]> {
    for await (const page of readDeliveries(api, endpoint, { until: new Date(untilMs), signal })) {
      backlog.pages += 1;
      if (Number.isNaN(backlog.newestMs)) backlog.newestMs = newest(page.deliveries.map(sentAtMs));
      const missing = page.deliveries.flatMap(sort);
      backlog.endedEarly = page.end === "listing" && !showedSettled;
      onPage();
      yield missing;
    }
  }

  function sort(delivery: WebhookDelivery): readonly RawRecord[] {
    backlog.listed += 1;
    if (newestMs(delivery) < settledMs) showedSettled = true;
    if (newestMs(delivery) < sinceMs) {
      backlog.outOfRange += 1;
    } else if (!includeComing && isComing(delivery)) {
      backlog.coming += 1;
      backlog.oldestComingMs = Math.min(backlog.oldestComingMs, beginMs(delivery));
    } else if (delivery.eventId !== null && leavesOut(delivery.eventId, occurredAtMs(delivery))) {
      backlog.leftOut += 1;
    } else {
      return [recordOf(delivery, backlog.listed)];
    }
    return [];
  }

  function isComing(delivery: WebhookDelivery): boolean {
    const overdueMs = newest([nowMs, backlog.newestMs]) - longestComingMs;
    return fateOf(delivery) === "coming" && !(occurredAtMs(delivery) < overdueMs);
  }

  return backlog;
}

/** When it occurred; -Infinity if it does not show that. It was sent later than it was made, so that time tells nothing. */
function beginMs(delivery: WebhookDelivery): number {
  const occurredMs = occurredAtMs(delivery);
  return Number.isNaN(occurredMs) ? Number.NEGATIVE_INFINITY : occurredMs;
}
