import type { Logger } from "@esim-webhooks/core";
import { monotonicClock, shownId } from "@esim-webhooks/core/internal";
import type { Depth } from "./depth.ts";
import { type PassState, shortHash } from "./pass-state.ts";
import { isAcknowledgedAndLost, mostIds, type SettledDelivery } from "./pass-tally.ts";
import type { ReconcileReport } from "./reconcile-report.ts";

/** The log lines of a pass at level error. */
export interface Alarms {
  /**
   * Notes a batch. The alarm for events that were acknowledged and lost comes immediately for the first of them, because the process
   * may be killed before the report, and then at most once a second.
   */
  note(settled: readonly SettledDelivery[]): void;
  /** Raises the alarm for lost events that are not reported yet. Call it when no more events are settled. */
  flush(): void;
  /** Raises the other alarms. Call it before the state is written: after that, the next pass may not raise them again. */
  raise(report: Pick<ReconcileReport, "ledger" | "ids" | "lost" | "gaps">, depth: Depth): void;
  readonly ids: Pick<ReconcileReport["ids"], "acknowledgedAndLost" | "invalid" | "unstorable">;
  /** The part of the state that later passes need. */
  reported(): PassState["reported"];
}

const dayMs = 24 * 60 * 60_000;
/** When an event or a gap is reported again, in ms after the last report. An invalid event never is: the listing has forgotten it by then. */
const reportAgainAfterMs = { lost: dayMs, gap: dayMs, invalid: 8 * dayMs };

/** How many events fit into the state. If there are more, those that were lost can be reported again, invalid ones are only counted. */
const mostReported = 1000;

/** How long at most the state remembers that an event was lost, in ms: after that, the listing has forgotten the event. */
const knownLostMs = 7 * dayMs;

const flushEveryMs = 1000;

const keyOf = (kind: keyof typeof reportAgainAfterMs, id: string) => shortHash(`${kind} ${id}`);

/** Whether the state remembers that a pass of the last 7 days has reported this event as acknowledged and lost. */
export function wasReportedLost(reported: PassState["reported"], id: string): boolean {
  return Object.hasOwn(reported, keyOf("lost", id));
}

export interface AlarmsOptions {
  /** The fields of each line. */
  readonly fields: { readonly endpoint: string; readonly source: string; readonly run: string };
  readonly before: PassState["reported"];
  /** Whether the pass only reads. The target is then not asked, so no event is called lost. */
  readonly dryRun: boolean;
  /** The time by our own clock, in ms. */
  readonly nowMs: number;
  readonly logger: Logger;
}

export function createAlarms({ fields, before, dryRun, nowMs, logger }: AlarmsOptions): Alarms {
  const known = Object.entries(before).filter(([, untilMs]) => untilMs > nowMs + dayMs - knownLostMs);
  const isSmall = known.length < mostReported / 2;
  const reported = new Map(isSmall ? known : known.filter(([, untilMs]) => untilMs > nowMs));
  const acknowledgedAndLost: string[] = [];
  const invalid: string[] = [];
  const unstorable: string[] = [];
  let waiting = { events: 0, ids: [] as string[] };
  let nextFlushAt = Number.NEGATIVE_INFINITY;

  function isReported(kind: keyof typeof reportAgainAfterMs, id: string): boolean {
    const key = keyOf(kind, id);
    if ((reported.get(key) ?? 0) > nowMs) return true;
    if (reported.size >= mostReported) return kind === "invalid";
    reported.set(key, nowMs + reportAgainAfterMs[kind]);
    return false;
  }

  function noteLost({ id }: SettledDelivery): void {
    if (isReported("lost", id)) return;
    add(acknowledgedAndLost, id);
    add(waiting.ids, id);
    waiting.events += 1;
  }

  function noteInvalid({ id, code }: SettledDelivery): void {
    if (isReported("invalid", id)) return;
    if (code === "unstorable_id") add(unstorable, shownId(id));
    else add(invalid, id);
  }

  function flush(): void {
    if (waiting.events === 0) return;
    logger.error(
      { ...fields, ...waiting },
      "These events were acknowledged and lost, and are recovered now. Find out what answered for them, or removed them.",
    );
    waiting = { events: 0, ids: [] };
    nextFlushAt = monotonicClock.now() + flushEveryMs;
  }

  return {
    ids: { acknowledgedAndLost, invalid, unstorable },
    note(settled) {
      for (const delivery of settled) {
        if (delivery.fate === "invalid") noteInvalid(delivery);
        else if (!dryRun && isAcknowledgedAndLost(delivery)) noteLost(delivery);
      }
      if (monotonicClock.now() >= nextFlushAt) flush();
    },
    flush,
    raise({ ledger, ids, lost, gaps }, depth) {
      if (invalid.length > 0) {
        logger.error(
          { ...fields, ids: invalid },
          "These records of the listing are not valid events. They are not reported again.",
        );
      }
      if (unstorable.length > 0) {
        logger.error(
          { ...fields, ids: unstorable },
          "No store can hold the ids of these events, so they are not handled. Report it to the provider, and handle their payloads in the listing yourself.",
        );
      }
      if (depth === "full" && ids.failed.length > 0) {
        logger.error(
          { ...fields, events: ledger.rejected, ids: ids.failed },
          "The handlers of these events failed. An event is tried every hour on its first day, and then once a day until the service stops listing it, 7 days after it was sent. Fix the handlers, and reconcile with since.",
        );
      }
      if (lost !== null) {
        logger.error(
          { ...fields, lost },
          "The service has forgotten the events of this time before they were settled, and support cannot replay them. Import a dump that was made in time, or read the state of their eSIMs through the API.",
        );
      }
      const newGaps = gaps?.filter(({ from, to }) => !isReported("gap", `${from} ${to}`)) ?? [];
      if (newGaps.length > 0) {
        logger.error(
          { ...fields, gaps: newGaps },
          "The endpoint was inactive in this time, or not subscribed to these event types, so no listing has their events. Ask support for a replay, and end this report with acknowledgeGaps.",
        );
      }
    },
    reported: () => Object.fromEntries(reported),
  };
}

function add(ids: string[], id: string): void {
  if (ids.length < mostIds) ids.push(id);
}
