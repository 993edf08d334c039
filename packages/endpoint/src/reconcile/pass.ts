import type { ApiClient } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { type RecordVerdict, type ReplayTarget, replayRecords } from "@esim-webhooks/import";
import { newest } from "../listing/delivery-times.ts";
import { openBacklog } from "./backlog.ts";
import type { PassClaim } from "./claim-pass.ts";
import { createFailures } from "./failures.ts";
import { openLedger } from "./ledger.ts";
import { lostStretch } from "./lost-stretch.ts";
import { createPassLog, mostIds } from "./pass-log.ts";
import { isFullPassDue, isoOf, listedMs } from "./pass-state.ts";
import { createPassNotice } from "./reconcile-notice.ts";
import type { SetupSettings } from "./reconcile-options.ts";
import type { ReconcileReport, Stretch } from "./reconcile-report.ts";

export interface PassParts {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly endpoint: string;
  readonly target: ReplayTarget<unknown, never>;
  readonly settings: SetupSettings;
  readonly run: string;
  /** How far back the caller asked to go. */
  readonly since: Date | undefined;
  readonly dryRun: boolean;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the listing, brings in what is not coming, oldest first, and moves the watermark on. Once a day, a full pass reads down
 * to `since`: the others find only what stands in the listing near the times that it shows. When it resolves or rejects, no
 * handler runs any more, but for one that ignores its deadline, and the place is given up.
 */
export async function runPass(parts: PassParts, claim: PassClaim): Promise<ReconcileReport> {
  const { api, endpoint, target, settings, run, since, dryRun } = parts;
  const { source, newSource, catalog, store, concurrency, deadlineMs, includeComing } = settings;
  const { overlapMs, logger, clock } = settings;
  const { begun } = claim;
  const beginMs = dateTimeMs(begun.mark);
  const sinceMs = dateTimeMs(begun.since);
  const nowMs = clock.now();
  const isFull = isFullPassDue(begun, nowMs);
  const settledMs = Math.max(beginMs - overlapMs, sinceMs);
  const untilMs = isFull ? sinceMs : settledMs;
  const signal = AbortSignal.any([claim.lost, ...(parts.signal ? [parts.signal] : [])]);
  const counts = openLedger(dryRun);
  const failures = createFailures(begun, clock);
  const { leavesOut } = failures;
  const onPage = () => notice.running();
  const backlog = openBacklog({
    api,
    endpoint,
    untilMs,
    settledMs,
    sinceMs,
    includeComing,
    leavesOut,
    nowMs,
    signal,
    onPage,
  });
  const log = createPassLog({ endpoint, source, run }, logger);
  const notice = createPassNotice({ run, endpoint, source }, () => ({
    pages: backlog.pages,
    ledger: counts.ledger(backlog),
    recovered: counts.recovered(),
    failing: failures.again,
    givenUp: failures.givenUp.length,
  }));

  /** The part of the time up to `ms` in which everything is settled that is not coming. */
  function settledTo(ms: number): number {
    const wantedMs = Number.isNaN(ms) ? beginMs : ms;
    const heldMs = Math.min(wantedMs, backlog.oldestComingMs, failures.oldestMs);
    return Number.isFinite(heldMs) ? heldMs : beginMs;
  }

  async function settle(verdicts: readonly RecordVerdict[]): Promise<void> {
    for (const verdict of verdicts) counts.add(verdict);
    if (!dryRun) log.settled(verdicts);
    failures.note(verdicts);
    const markMs = settledTo(Math.min(verdicts.at(-1)?.occurredMs ?? Number.NaN, backlog.newestMs));
    if (markMs > beginMs) claim.advance(isoOf(markMs));
    notice.running();
  }

  async function bringIn(): Promise<boolean> {
    const { interrupted } = await replayRecords(backlog.records(), target, {
      trustUnsigned: true,
      oldestFirst: true,
      source,
      newSource,
      catalog: catalog as never,
      store: store as never,
      concurrency,
      deadlineMs,
      dryRun,
      signal,
      logger,
      clock,
      journal: { run, settle: (_last, _tally, verdicts) => settle(verdicts()) },
    });
    claim.lost.throwIfAborted();
    return !interrupted;
  }

  async function lostBefore(endMs: number): Promise<Stretch | null> {
    if (!backlog.endedEarly) return null;
    const fromMs = dateTimeMs(begun.settledTo);
    return lostStretch({ api, endpoint, since, signal, fromMs, toMs: endMs - listedMs });
  }

  function reportOf(isComplete: boolean, lost: Stretch | null): ReconcileReport {
    return {
      run,
      endpoint,
      source,
      dryRun,
      interrupted: !isComplete,
      pages: backlog.pages,
      ledger: counts.ledger(backlog),
      recovered: counts.recovered(),
      failing: failures.again,
      givenUp: failures.givenUp.length,
      ids: {
        acknowledgedAndLost: log.acknowledgedAndLost,
        givenUp: failures.givenUp.slice(0, mostIds),
        invalid: failures.invalid.slice(0, mostIds),
      },
      lost,
      mark: claim.mark,
    };
  }

  try {
    const isComplete = await bringIn().finally(log.flush);
    const endMs = newest([nowMs, backlog.newestMs]);
    const lost = isComplete ? await lostBefore(endMs) : null;
    if (isComplete) claim.advance(isoOf(settledTo(backlog.newestMs)));
    const report = reportOf(isComplete, lost);
    log.alarms(report); // at the latest now: once the state is written, no other pass finds them
    await claim.end({
      ...(isComplete && { settledTo: isoOf(settledTo(endMs)), completed: begun.completed + 1 }),
      ...(isComplete && isFull && { fullPassAt: isoOf(nowMs) }),
      ...failures.kept(isComplete),
    });
    log.report(report);
    notice.ended(report);
    return report;
  } catch (error) {
    await claim.end({}).catch(() => {}); // the first error is the one to tell
    notice.failed(error);
    throw error;
  }
}
