import type { ApiClient } from "@esim-webhooks/client";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import { type RecordVerdict, type ReplayTarget, replayRecords } from "@esim-webhooks/import";
import { listedMs, newest } from "../base/deliveries.ts";
import { openBacklog } from "./backlog.ts";
import type { PassClaim } from "./claim-pass.ts";
import { isPlausible } from "./clock-tolerance.ts";
import { depthOf } from "./depth.ts";
import { createFailures } from "./failures.ts";
import { createIgnored } from "./ignored.ts";
import { openLedger } from "./ledger.ts";
import { lostStretch } from "./lost-stretch.ts";
import { createPassLog, mostIds } from "./pass-log.ts";
import { isoOf } from "./pass-state.ts";
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
 * Reads the listing, brings in what is not coming, oldest first, and moves the watermark on. When it resolves or rejects, no
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
  const { untilMs, isDeep, isFull } = depthOf(begun, overlapMs, nowMs);
  const signal = AbortSignal.any([claim.lost, ...(parts.signal ? [parts.signal] : [])]);
  const counts = openLedger(dryRun);
  const failures = createFailures(begun, clock);
  const ignored = createIgnored(begun, nowMs);
  const onPage = () => notice.running();
  const backlog = openBacklog({
    api,
    endpoint,
    untilMs,
    sinceMs,
    includeComing,
    isIgnored: ignored.includes,
    leavesOut: failures.leavesOut,
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

  /** The newest attempt that was listed; NaN if none was. An impossible one in the future would hide what comes until then. */
  const newestMs = () => Math.min(backlog.newestMs, nowMs);

  /** The part of the time up to `ms` in which everything is settled that is not coming. */
  function settledTo(ms: number): number {
    const heldMs = Math.min(Number.isNaN(ms) ? beginMs : ms, backlog.oldestComingMs, failures.oldestMs);
    return Number.isFinite(heldMs) ? heldMs : beginMs;
  }

  /** The mark that a complete pass leaves behind. One that is not deep has not seen what holds it, and cannot move it on. */
  const reachedMs = () => settledTo(isDeep ? newestMs() : beginMs);

  async function settle(verdicts: readonly RecordVerdict[]): Promise<void> {
    for (const verdict of verdicts) counts.add(verdict);
    if (!dryRun) log.settled(verdicts);
    failures.note(verdicts);
    ignored.note(verdicts);
    const markMs = Math.min(settledTo(verdicts.at(-1)?.occurredMs ?? Number.NaN), reachedMs());
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

  /** What the listing has forgotten. What it shows is not forgotten, whatever the clocks say. */
  async function lostBefore(): Promise<Stretch | null> {
    if (!isDeep || !backlog.isWhole) return null;
    const endMs = isPlausible(backlog.newestMs, nowMs) ? newest([nowMs, backlog.newestMs]) : nowMs;
    const toMs = Math.min(endMs - listedMs, backlog.oldestMs);
    return lostStretch({ api, endpoint, since, signal, fromMs: dateTimeMs(begun.settledTo), toMs });
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
        unstorable: failures.unstorable.slice(0, mostIds),
      },
      lost,
      mark: claim.mark,
    };
  }

  try {
    if (isFull) await claim.note({ fullPassTriedAt: isoOf(nowMs) });
    const isComplete = await bringIn().finally(log.flush);
    const lost = isComplete ? await lostBefore() : null;
    if (isComplete) claim.advance(isoOf(reachedMs()));
    const report = reportOf(isComplete, lost);
    log.alarms(report); // at the latest now: once the state is written, no other pass finds them
    await claim.end({
      ...(isComplete && { head: isoOf(newest([newestMs(), dateTimeMs(begun.head)])) }),
      ...(isComplete && isDeep && { settledTo: isoOf(settledTo(nowMs)), deepPassAt: isoOf(nowMs) }),
      ...(isComplete && isFull && { fullPassAt: isoOf(nowMs) }),
      ...(isComplete && { completed: begun.completed + 1 }),
      ...ignored.kept(),
      ...failures.kept(isComplete && isFull),
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
