import { randomUUID } from "node:crypto";
import type { EsimEvents } from "@esim-webhooks/core";
import { durationMs, idPattern, parseOptions } from "@esim-webhooks/core/kit";
import * as z from "zod/mini";
import type { RawRecord } from "../dump/record.ts";
import { isDeeper, isObject } from "../record/fields.ts";
import { readBatches, untilAborted } from "./batch-stream.ts";
import { createChecks, createTimeReader } from "./classify.ts";
import type { ReplayJournal } from "./journal.ts";
import { createCounter, type ReplayCounts } from "./ledger.ts";
import { oldestFirst as sortOldestFirst } from "./oldest-first.ts";
import { createProgress } from "./progress.ts";
import { replay } from "./replay.ts";
import { deepest, type ReplayOptions, replayShape } from "./replay-options.ts";
import { openSinkOf, type ReplayTarget } from "./target.ts";

/** The result of a replay. Plain JSON. */
export interface ReplayReport extends ReplayCounts {
  /** The name of this run. A run that continues an interrupted one keeps its name. */
  readonly run: string;
  /** Nothing was changed: `stored` counts the events that would be stored or handled, and no duplicates are known. */
  readonly dryRun: boolean;
  /** The signal aborted: run it again to continue. Everything counted is settled. */
  readonly interrupted: boolean;
}

export interface ReplayRecordsOptions<Data = EsimEvents, Tx = unknown> extends ReplayOptions<Data, Tx> {
  /** Records how far the replay has come. Default: no journal. */
  readonly journal?: ReplayJournal | undefined;
  /**
   * With handlers or a processor: how long a handler may take, in ms. Then its `context.signal` aborts, and its event counts as
   * `rejected` with the code `deadline_reached`. Default: as long as it needs.
   */
  readonly deadlineMs?: number | undefined;
}

const shape = {
  ...replayShape,
  journal: z.optional(
    z.custom<ReplayJournal>(
      (value) => typeof (value as Partial<ReplayJournal> | null)?.run === "string",
      "expected an object with run, the name of the run",
    ),
  ),
  deadlineMs: z.optional(durationMs(1)),
};

/**
 * Replays records from anywhere, such as the pages of the deliveries listing, as `importDeliveries` replays those of a dump.
 * Each record is recognised, filtered, verified, passed to the target in order, and counted in a ledger that balances. Ids that are
 * stored or done are duplicates and do not run; a bad record does not stop the replay.
 *
 * Records do not wait for a batch to fill while the next ones are 20 ms late. Resolves to a report, also when the signal
 * interrupted it, which does not wait for `records`. Rejects as `importDeliveries` does, and with the error of `records`, once
 * what was read before is settled and no handler runs any more, except one that ignores its deadline.
 * @param records batches of records, in the order in which the target gets them; `value` is a record of the deliveries listing
 * or a captured request
 * @param target an inbox, handlers (with `store`) or a processor
 * @param options how the records are filtered and replayed
 */
export async function replayRecords<Data = EsimEvents, Tx = unknown>(
  records: AsyncIterable<readonly RawRecord[]>,
  target: ReplayTarget<Data, Tx>,
  options: ReplayRecordsOptions<Data, Tx> = {},
): Promise<ReplayReport> {
  const { journal = { run: randomUUID() }, ...settings } = parseOptions("replayRecords", shape, options);
  const { dryRun, source, logger, signal, oldestFirst } = settings;
  const { run } = journal;
  const checks = createChecks(settings);
  const openSink = openSinkOf(target as ReplayTarget<unknown, never>, settings);
  const ledger = createCounter(journal.tally);
  const progress = createProgress({ source, dryRun, logger, run: () => run, total: ledger.total });
  let interrupted = false;
  try {
    const readable = withoutTooDeep(untilAborted(records, signal));
    await replay(oldestFirst ? sortOldestFirst(readable, createTimeReader(checks)) : readable, {
      checks,
      openSink,
      journal,
      ledger,
      signal,
      onProgress: progress.report,
    });
  } catch (error) {
    interrupted = isReason(error, signal);
    if (!interrupted) {
      progress.fail(error);
      throw error;
    }
  }
  progress.end(interrupted ? "interrupted" : "complete");
  return { run, dryRun, interrupted, ...ledger.report() };
}

/** The same batches, in which a record that is nested too deeply is a fault. A dump has the same limit, or a lower one. */
function withoutTooDeep(batches: AsyncIterable<readonly RawRecord[]>): AsyncGenerator<readonly RawRecord[]> {
  return readBatches(batches, async (next) => {
    const { done, value } = await next();
    return done ? { done, value } : { value: (value as readonly RawRecord[]).map(faultIfTooDeep) };
  });
}

/** The record, or a fault in its place if it is nested too deeply. */
function faultIfTooDeep(raw: RawRecord): RawRecord {
  if ("fault" in raw || !isDeeper(raw.value, deepest)) return raw;
  const { position, value } = raw;
  const id = isObject(value) ? value["eventId"] : undefined;
  const reason = `nested more than ${deepest} deep`;
  const isId = typeof id === "string" && idPattern.test(id);
  return { position, fault: "too_deep", reason, ...(isId && { id }) };
}

/** Whether the error is the reason of the aborted signal. */
export function isReason(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}
