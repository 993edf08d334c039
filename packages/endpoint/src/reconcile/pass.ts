import { randomUUID } from "node:crypto";
import type { ApiClient } from "@esim-webhooks/client";
import { isInbox } from "@esim-webhooks/core/engine";
import { dateTimeMs, noteRun } from "@esim-webhooks/core/internal";
import { replayRecords } from "@esim-webhooks/import";
import { newest, readDeliveries } from "../base/deliveries.ts";
import { endpointIn, listEndpoints } from "../base/list-endpoints.ts";
import { createAlarms } from "./alarms.ts";
import { claimPass, type PassClaim, readOnlyClaim } from "./claim-pass.ts";
import { type Depth, nextDepth, passesBegun, passesCompleted, untilMsOf } from "./depth.ts";
import { afterLook, reportedGaps, type Sightings, withoutExpired } from "./endpoint-gaps.ts";
import { findForgottenPeriod } from "./forgotten-period.ts";
import { isoOf, type PassStart, settledToMs, startState, stateName } from "./pass-state.ts";
import { createPassTally, type SettledDelivery } from "./pass-tally.ts";
import { createPassNotice } from "./reconcile-notice.ts";
import type { ReconcileTarget, SetupSettings } from "./reconcile-options.ts";
import type { ReconcileReport } from "./reconcile-report.ts";
import { type SupportReplayWatch, watchSupportReplay } from "./support-replay-watch.ts";

export interface PassRequest extends Pick<PassStart, "firstPassFrom" | "goBackTo"> {
  readonly api: Pick<ApiClient, "webhooks">;
  readonly endpoint: string;
  readonly target: ReconcileTarget<unknown, never>;
  readonly settings: SetupSettings;
  /** The depth if no deeper pass is due. */
  readonly minDepth: Depth;
  readonly dryRun: boolean;
  /** Whether the gaps that earlier passes have found are left out from now on. */
  readonly acknowledgeGaps: boolean;
  readonly signal: AbortSignal | undefined;
}

/** Claims a pass and makes it. Rejects as `claimPass` and `startState` do, and with what went wrong in the pass. */
export async function makePass(request: PassRequest): Promise<ReconcileReport> {
  const { endpoint, settings, firstPassFrom, goBackTo, minDepth, dryRun, signal } = request;
  const { state, source, newSource, leaseMs, logger, clock } = settings;
  const run = randomUUID();
  const nowMs = clock.now();
  const watch = await watchSupportReplay(state, source, nowMs);
  const claim = await (dryRun ? readOnlyClaim : claimPass)({
    state,
    name: stateName(endpoint),
    run,
    leaseMs,
    plan(stored) {
      const from = startState(stored, { endpoint, source, newSource, firstPassFrom, goBackTo }, nowMs);
      const depth = nextDepth(from, minDepth, nowMs);
      return { depth, initialState: { ...from, passes: passesBegun(from, depth, nowMs) } };
    },
    signal,
    logger,
  });
  return runPass(request, { run, claim, watch, nowMs });
}

interface BegunPass {
  readonly run: string;
  readonly claim: PassClaim;
  readonly watch: SupportReplayWatch;
  readonly nowMs: number;
}

/**
 * Reads the listing, recovers the events that the target lacks, oldest first, and moves the watermark on. When it resolves or rejects, no handler
 * runs any more, except for one that ignores its deadline, and the claim is released.
 */
async function runPass(request: PassRequest, begun: BegunPass): Promise<ReconcileReport> {
  const { run, claim, watch, nowMs } = begun;
  const { api, endpoint, target, settings, firstPassFrom, dryRun, acknowledgeGaps } = request;
  const { source, newSource, catalog, store, concurrency, deadlineMs, includeComing } = settings;
  const { overlapMs, logger, clock } = settings;
  const eventTypes = settings.eventTypes ?? handledTypes(target);
  const { initialState, depth } = claim.plan;
  const signal = AbortSignal.any([claim.takenOver, ...(request.signal ? [request.signal] : [])]);
  const names = { run, endpoint, source };
  const tally = createPassTally({ initialState, depth, includeComing, dryRun, nowMs });
  const alarms = createAlarms({ fields: names, before: initialState.reported, dryRun, nowMs, logger });
  const counted = () => ({
    pages: tally.pages,
    ledger: tally.ledger(),
    recovered: tally.recovered(),
    failing: tally.failing,
    refusedAt: Number.isNaN(tally.refusedMs) ? null : isoOf(tally.refusedMs),
  });
  const notice = createPassNotice({ ...names, dryRun }, counted);

  /** The deliveries that the target may lack, a page at a time. */
  async function* candidates(): AsyncGenerator<readonly object[]> {
    const until = new Date(untilMsOf(depth, initialState, overlapMs));
    for await (const page of readDeliveries(api, endpoint, { until, signal })) {
      const wanted = tally.takePage(page);
      watch.listed(page.deliveries);
      notice.running();
      yield wanted;
    }
  }

  /** The time of the newest attempt that was listed, at most now; NaN if none was. An impossible time in the future would hide later events. */
  const headMs = () => Math.min(tally.newestMs, nowMs);

  /** Whether the pass may move the mark on. A recent pass may not if something has held the mark back: it does not read so far down. */
  const seesMark = depth !== "recent" || initialState.mark >= initialState.head;

  /** The mark that a complete pass leaves behind. */
  function reachedMs(): number {
    const seenMs = seesMark ? Math.min(newest([initialState.mark, headMs()]), nowMs) : initialState.mark;
    return Math.min(seenMs, tally.oldestHolderMs);
  }

  async function settle(settled: readonly SettledDelivery[]): Promise<void> {
    tally.count(settled);
    alarms.note(settled);
    watch.settled(settled);
    const settledMs = Math.min(settled.at(-1)?.occurredMs ?? Number.NaN, reachedMs());
    if (settledMs > initialState.mark) claim.advance(settledMs);
    notice.running();
  }

  /** Passes the candidates to the target, which stores or handles what it lacks. Resolves to false if the signal aborted before the last one. */
  async function recover(): Promise<boolean> {
    const { interrupted } = await replayRecords<unknown, never>(candidates(), target, {
      trustUnsigned: true,
      oldestFirst: true,
      source,
      newSource,
      catalog,
      store: store as never,
      concurrency,
      deadlineMs,
      dryRun,
      signal,
      logger,
      clock,
      journal: { run, settle },
    });
    claim.takenOver.throwIfAborted();
    return !interrupted;
  }

  let createdMs = Number.NaN;

  /** Adds this pass's look at the endpoint to those of earlier passes. If the service does not show the endpoint, the next pass looks again. */
  async function lookAtEndpoint(): Promise<Sightings> {
    const { seenAt, lacking, since } = initialState;
    const gaps = acknowledgeGaps && !dryRun ? [] : withoutExpired(initialState.gaps, nowMs);
    const before = { seenAt, lacking, gaps };
    const calledAt = clock.now();
    const all = await listEndpoints(api, signal).catch((err: unknown) => {
      logger.debug({ ...names, err }, "It is not known whether the endpoint is active.");
      return [];
    });
    const found = endpointIn(all, endpoint);
    if (found === undefined) return before;
    createdMs = dateTimeMs(found.createdAt);
    return afterLook(before, { endpoint: found, eventTypes, since, calledAt, answeredAt: clock.now() });
  }

  /** Returns the period whose events left the listing before they were settled. */
  function forgottenPeriod(): ReconcileReport["lost"] {
    if (!seesMark || !tally.isWhole) return null;
    const { newestMs, oldestMs } = tally;
    const fromMs = settledToMs(initialState);
    return findForgottenPeriod({ since: firstPassFrom, nowMs, newestMs, oldestMs, fromMs, createdMs });
  }

  const startedAt = new Date();
  const note = (outcome: string) =>
    dryRun
      ? undefined
      : noteRun(
          target,
          {
            ...{
              kind: "reconcile",
              run,
              source,
              startedAt,
              endedAt: new Date(),
              outcome,
              ledger: tally.ledger(),
            },
            ...(tally.refusedMs > 0 && { refusedAt: new Date(tally.refusedMs) }),
          },
          logger,
        );

  notice.began();
  let sightings: Partial<Sightings> = {};
  try {
    const seen = await lookAtEndpoint();
    sightings = seen;
    const isComplete = await recover().finally(alarms.flush);
    const lost = isComplete ? forgottenPeriod() : null;
    if (isComplete) claim.advance(reachedMs());
    const report: ReconcileReport = {
      ...names,
      dryRun,
      interrupted: !isComplete,
      ...counted(),
      ids: { ...alarms.ids, failed: tally.failed },
      lost,
      gaps: reportedGaps(seen, initialState.seenAt !== null),
      supportReplay: watch.arrivals(),
      mark: isoOf(claim.mark),
    };
    alarms.raise(report, depth); // at the latest now: once the state is written, the next pass may not raise them
    if (!dryRun) await watch.keep();
    await claim.end({
      ...(isComplete && {
        head: newest([initialState.head, headMs()]),
        passes: passesCompleted(initialState, depth, nowMs, tally.nextAttemptMs),
        lastRun: run,
      }),
      ...tally.remembered(isComplete),
      ...sightings,
      reported: alarms.reported(),
    });
    const { interrupted, mark, supportReplay } = report;
    logger.info(
      { code: "reconciled", ...names, dryRun, interrupted, depth, ...counted(), mark, supportReplay },
      "Reconciled with the deliveries listing.",
    );
    notice.ended(report);
    await note(interrupted ? "interrupted" : "complete");
    return report;
  } catch (error) {
    await claim.end(sightings).catch(() => {}); // the first error is the one to report
    notice.failed(error);
    await note("failed");
    throw error;
  }
}

/** The event types that a map of handlers names: receivers have the same handlers. Undefined for an inbox or a processor, whose handlers are not known. */
function handledTypes(target: PassRequest["target"]): readonly string[] | undefined {
  return isInbox(target) || "process" in target ? undefined : Object.keys(target);
}
