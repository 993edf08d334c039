import type { Logger } from "@esim-webhooks/core";
import type { RecordVerdict } from "@esim-webhooks/import";
import { isAcknowledgedAndLost } from "./ledger.ts";
import type { ReconcileReport } from "./reconcile-report.ts";

/** How many ids a log line or a report has. */
export const mostIds = 20;

/** The log lines of a pass. */
export interface PassLog {
  /** Raises the alarm at once for events that were acknowledged and lost: the process may be killed before the report. */
  settled(verdicts: readonly RecordVerdict[]): void;
  report(report: ReconcileReport): void;
  /** The first ids of the alarm. */
  readonly acknowledgedAndLost: readonly string[];
}

export function createPassLog(
  fields: { readonly endpoint: string; readonly source: string; readonly run: string },
  logger: Logger,
): PassLog {
  const acknowledgedAndLost: string[] = [];
  return {
    acknowledgedAndLost,
    settled(verdicts) {
      const ids = verdicts.filter(isAcknowledgedAndLost).map(({ id }) => id);
      if (ids.length === 0) return;
      acknowledgedAndLost.push(...ids.slice(0, mostIds - acknowledgedAndLost.length));
      logger.error(
        { ...fields, events: ids.length, ids: ids.slice(0, mostIds) },
        "These events were acknowledged and lost, and are brought in now. Find out what answered for them, or removed them.",
      );
    },
    report({ ledger, recovered, failing, givenUp, ids, lost, mark, pages, dryRun, interrupted }) {
      if (ids.invalid.length > 0) {
        logger.error(
          { ...fields, ids: ids.invalid },
          "These records of the listing are no events that the target takes. They are not reported again.",
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
          "The listing does not go back far enough: only support can replay the events of this time.",
        );
      }
      logger.info(
        { ...fields, dryRun, interrupted, pages, ledger, recovered, failing, mark },
        "Reconciled with the deliveries listing.",
      );
    },
  };
}
