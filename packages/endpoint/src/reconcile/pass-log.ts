import type { Logger } from "@esim-webhooks/core";
import { monotonicClock } from "@esim-webhooks/core/kit";
import type { RecordVerdict } from "@esim-webhooks/import";
import { isAcknowledgedAndLost } from "./ledger.ts";
import type { ReconcileReport } from "./reconcile-report.ts";

/** How many ids a log line or a report has. */
export const mostIds = 20;

const alarmEveryMs = 1000;

/** The log lines of a pass. */
export interface PassLog {
  /**
   * Raises the alarm for events that were acknowledged and lost: at once for the first, because the process may be killed before
   * the report, and then at most once a second for all since.
   */
  settled(verdicts: readonly RecordVerdict[]): void;
  /** Raises the alarm for those that are left. Call it when no more are settled. */
  flush(): void;
  /** Raises the other alarms of a pass. Call it before its state is written: the next pass does not find them again. */
  alarms(report: ReconcileReport): void;
  report(report: ReconcileReport): void;
  /** The first ids of the alarm. */
  readonly acknowledgedAndLost: readonly string[];
}

export function createPassLog(
  fields: { readonly endpoint: string; readonly source: string; readonly run: string },
  logger: Logger,
): PassLog {
  const acknowledgedAndLost: string[] = [];
  let waiting: string[] = [];
  let nextAt = Number.NEGATIVE_INFINITY;

  function flush(): void {
    if (waiting.length === 0) return;
    logger.error(
      { ...fields, events: waiting.length, ids: waiting.slice(0, mostIds) },
      "These events were acknowledged and lost, and are brought in now. Find out what answered for them, or removed them.",
    );
    waiting = [];
    nextAt = monotonicClock.now() + alarmEveryMs;
  }

  return {
    acknowledgedAndLost,
    settled(verdicts) {
      const ids = verdicts.filter(isAcknowledgedAndLost).map(({ id }) => id);
      acknowledgedAndLost.push(...ids.slice(0, mostIds - acknowledgedAndLost.length));
      waiting.push(...ids);
      if (monotonicClock.now() >= nextAt) flush();
    },
    flush,
    alarms({ givenUp, ids, lost }) {
      if (ids.invalid.length > 0) {
        logger.error(
          { ...fields, ids: ids.invalid },
          "These records of the listing are not valid events. They are not reported again.",
        );
      }
      if (ids.unstorable.length > 0) {
        logger.error(
          { ...fields, ids: ids.unstorable },
          "No store can hold the ids of these events, so they are not handled. Report it to the provider, and handle their payloads in the listing yourself.",
        );
      }
      if (givenUp > 0) {
        logger.error(
          { ...fields, events: givenUp, ids: ids.givenUp },
          "The handlers of these events have failed nine times in most of a day: they are given up. Mend the handlers, and reconcile with since.",
        );
      }
      if (lost !== null) {
        logger.error(
          { ...fields, lost },
          "The service has forgotten the events of this time before they were settled, and support cannot replay them. Import a dump that was made in time, or read the state of their eSIMs through the API.",
        );
      }
    },
    report({ ledger, recovered, failing, mark, pages, dryRun, interrupted }) {
      logger.info(
        { ...fields, dryRun, interrupted, pages, ledger, recovered, failing, mark },
        "Reconciled with the deliveries listing.",
      );
    },
  };
}
