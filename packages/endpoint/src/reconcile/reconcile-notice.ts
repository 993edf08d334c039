import type { Channel } from "node:diagnostics_channel";
import { createNotice, createProgressNotice } from "@esim-webhooks/core/internal";
import type { ReconcileReport } from "./reconcile-report.ts";

/** The progress of a pass. On `esim-webhooks:reconcile`, at most ten times a second while it runs, and once at its end. */
export interface ReconcileMessage
  extends Pick<
    ReconcileReport,
    | "run"
    | "endpoint"
    | "source"
    | "dryRun"
    | "pages"
    | "ledger"
    | "recovered"
    | "failing"
    | "refusedAt"
    | "lost"
    | "supportReplay"
  > {
  /** `interrupted`: the signal of the pass aborted. `failed`: the pass rejects with `error`. */
  readonly outcome: "running" | "complete" | "interrupted" | "failed";
  /** Since the pass began, in ms. */
  readonly durationMs: number;
  /** The error that the pass rejects with. Absent unless it failed. */
  readonly error?: unknown;
}

export const reconcileNotice: Channel<unknown, ReconcileMessage> = createNotice("reconcile");

/** Publishes the progress of a pass. */
export interface PassNotice {
  /** Call it before the pass imports anything: that import has the same run. */
  began(): void;
  /** Call it often. */
  running(): void;
  ended(report: ReconcileReport): void;
  failed(error: unknown): void;
}

export function createPassNotice(
  fields: Pick<ReconcileMessage, "run" | "endpoint" | "source" | "dryRun">,
  now: () => Pick<ReconcileMessage, "pages" | "ledger" | "recovered" | "failing" | "refusedAt">,
): PassNotice {
  const notice = createProgressNotice<ReconcileMessage>(reconcileNotice, () => ({
    ...fields,
    ...now(),
    lost: null,
    supportReplay: null,
  }));

  return {
    began: () => notice.publish({ outcome: "running" }),
    running() {
      if (notice.isDue()) notice.publish({ outcome: "running" });
    },
    ended: ({ interrupted, lost, supportReplay }) =>
      notice.publish({ outcome: interrupted ? "interrupted" : "complete", lost, supportReplay }),
    failed: (error) => notice.publish({ outcome: "failed", error }),
  };
}
