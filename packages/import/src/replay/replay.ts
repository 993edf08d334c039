import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { WebhookError } from "@esim-webhooks/core";
import type { RawRecord } from "../dump/record.ts";
import { createChecks } from "../record/checks.ts";
import { createInOrder, flushingWhenLate } from "./batches.ts";
import { type Classified, createClassifier, createTimeReader } from "./classify.ts";
import { type RecordVerdict, type ReplayJournal, rejectLine } from "./journal.ts";
import { type Counter, createCounter, type Ledger, type ReplayCounts } from "./ledger.ts";
import { oldestFirst as sortOldestFirst } from "./oldest-first.ts";
import { createProgress, type ReplayEnding } from "./progress.ts";
import type { Sink, SinkSettings, Verdict } from "./sink.ts";
import { openSinkOf, type ReplayTarget } from "./target.ts";

/** The result of a replay. Plain JSON. */
export interface ReplayReport extends ReplayCounts {
  /** The name of this run. A run that continues an interrupted one keeps its name. */
  readonly run: string;
  /** Whether it was a dry run, without target and store: then `stored` counts the events that would be passed to the target, and duplicates are not known. */
  readonly dryRun: boolean;
  /** Whether the signal ended the replay early: run it again to continue. All counted records are settled. */
  readonly interrupted: boolean;
}

type Batches = AsyncIterable<readonly RawRecord[]>;

/** A journal that the driver opens and closes. Its `run` and `tally` are known once it is open. */
export interface DriverJournal extends ReplayJournal {
  open?(): Promise<void>;
  /** Skips the records that an earlier run has settled. */
  unsettled?(batches: Batches): Batches;
  /** Called when all records are settled. Resolves to how the replay ended. Default: complete. */
  finish?(): Promise<ReplayEnding>;
  /** Called instead when the replay was interrupted or failed. Never rejects. */
  interrupt?(tally: () => ReplayCounts): Promise<void>;
  close?(): Promise<void>;
}

/** The records of a replay, and what is called while it runs. */
export interface ReplayInput {
  readonly records: Batches;
  readonly journal: DriverJournal;
  /** How many bytes were read; absent when the records are not from a dump. */
  readonly bytesRead?: () => number;
  /** Called at most 10 times a second, and at the end. */
  readonly onProgress?: ((ledger: Ledger) => void) | undefined;
  /** Called at the end, also before the replay rejects. Never rejects. */
  readonly onEnd?: (outcome: ReplayEnding | "failed", ledger: Ledger) => Promise<void>;
}

/**
 * Replays records, wherever they are from: makes the checks and the sink, sorts the records if they must be oldest first, passes
 * them on, and reports. Rejects for a mistake in the set-up, and for other errors once no handler runs any more. An aborted signal
 * is no error, but `interrupted`.
 */
export async function replay(
  { records, journal, onProgress, onEnd, bytesRead }: ReplayInput,
  target: ReplayTarget<unknown, never>,
  settings: SinkSettings,
): Promise<ReplayReport> {
  const { source, dryRun, oldestFirst, logger, signal } = settings;
  const checks = createChecks(settings);
  const openSink = openSinkOf(target, settings);
  let ledger = createCounter();
  const total = () => ledger.total();
  const progress = createProgress({
    ...{ source, dryRun, logger, onProgress, total },
    ...(bytesRead && { bytesRead }),
    run: () => journal.run,
  });
  let ending: ReplayEnding;
  try {
    await journal.open?.();
    ledger = createCounter(journal.tally);
    const sink = await openSink(journal.run).catch((error: unknown) => {
      throw stoppingError(error);
    });
    const classify = createClassifier(checks, sink, journal.reject && rejectLine);
    const sorted = oldestFirst ? sortOldestFirst(records, createTimeReader(checks)) : records;
    const unsettled = journal.unsettled?.(sorted) ?? sorted;
    await passOn(unsettled, { classify, sink, journal, ledger, signal, onProgress: progress.report });
    ending = (await journal.finish?.()) ?? "complete";
  } catch (error) {
    await journal.interrupt?.(ledger.report);
    if (!isReason(error, signal)) {
      progress.fail(error);
      await onEnd?.("failed", total());
      throw error;
    }
    ending = "interrupted";
  } finally {
    await journal.close?.();
  }
  progress.end(ending);
  await onEnd?.(ending, total());
  return { run: journal.run, dryRun, interrupted: ending === "interrupted", ...ledger.report() };
}

/** Whether the error is the reason of the aborted signal. */
function isReason(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

/** The parts of a replay that has begun. */
interface Running {
  readonly classify: (raw: RawRecord) => Classified<unknown>;
  readonly sink: Sink<unknown>;
  readonly journal: ReplayJournal;
  readonly ledger: Counter;
  readonly signal: AbortSignal | undefined;
  /** Called often. */
  readonly onProgress: () => void;
}

/** Consecutive records, and the items of those that go to the sink. */
interface Batch {
  readonly records: readonly Classified<unknown>[];
  readonly items: readonly unknown[];
}

/**
 * Classifies each record, passes batches to the sink, and settles the verdicts in the ledger. A batch is full, or holds what
 * was read before the source paused or failed. When it resolves or rejects, no handler runs any more, and everything that
 * could be settled is. Rejects with the signal's reason once that has aborted.
 */
async function passOn(
  records: Batches,
  { classify, sink, journal, ledger, signal, onProgress }: Running,
): Promise<void> {
  const gathered = createBatchBuilder(sink.batchSize);
  const inOrder = createInOrder(sink.atOnce, take, settle);

  async function take({ items }: Batch): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin?.(ledger.report);
    return sink.take(items).catch((error: unknown) => {
      signal?.throwIfAborted(); // an error of an aborted replay does not matter
      throw stoppingError(error);
    });
  }

  async function settle({ records }: Batch, ofSink: readonly Verdict[]): Promise<void> {
    let taken = 0;
    const verdicts = records.map((record) =>
      "verdict" in record ? record.verdict : (ofSink[taken++] as Verdict),
    );
    if (journal.reject !== undefined) {
      const lines = records.map((record, index) => lineOf(record, verdicts[index] as Verdict)).join("");
      if (lines !== "") await journal.reject(lines);
    }
    for (const [index, { type, occurredMs }] of records.entries()) {
      const { fate, isForced = false } = verdicts[index] as Verdict;
      ledger.add(fate, type, occurredMs, isForced);
    }
    await journal.settle?.(
      records.map((record, index) => verdictOn(record, verdicts[index] as Verdict)),
      ledger.report,
    );
    onProgress();
  }

  async function flush(): Promise<void> {
    signal?.throwIfAborted();
    const batch = gathered.take();
    if (batch !== undefined) await inOrder.begin(batch);
  }

  try {
    for await (const batch of flushingWhenLate(records, flush, inOrder.failure)) {
      for (const raw of batch) if (gathered.add(classify(raw))) await flush();
      onProgress();
      await yieldToEventLoop(); // a source in memory never waits, so what the sink has sent would not leave the process
    }
    await flush();
  } finally {
    await inOrder.end();
  }
}

const mostRecords = 10_000; // reached only when most records are filtered
const mostBytes = 4 * 1024 * 1024;

function createBatchBuilder(mostItems: number): {
  /** Adds a record. Returns true when the batch is full. */
  add(record: Classified<unknown>): boolean;
  /** The records added since the last call; undefined if there are none. */
  take(): Batch | undefined;
} {
  let records: Classified<unknown>[] = [];
  let items: unknown[] = [];
  let bytes = 0;
  return {
    add(record) {
      records.push(record);
      if ("item" in record) items.push(record.item);
      bytes += record.bytes;
      return items.length >= mostItems || records.length >= mostRecords || bytes >= mostBytes;
    },
    take() {
      if (records.length === 0) return undefined;
      const batch = { records, items };
      records = [];
      items = [];
      bytes = 0;
      return batch;
    },
  };
}

function verdictOn(
  { position, id, type, occurredMs, status }: Classified<unknown>,
  { fate, code }: Verdict,
): RecordVerdict {
  return { position, id, type, occurredMs, status, fate, ...(code !== undefined && { code }) };
}

function lineOf(record: Classified<unknown>, { code, reason = "" }: Verdict): string {
  if ("verdict" in record) return record.line ?? "";
  const { id, raw } = record;
  return raw !== undefined && code !== undefined ? rejectLine(raw, id, code, reason) : "";
}

/** The error with which the replay ends when its target fails. */
function stoppingError(cause: unknown): WebhookError<string> {
  if (WebhookError.is(cause) && cause.code !== "store_unavailable") return cause;
  return new WebhookError(
    "store_unavailable",
    "The target cannot be reached, so not all records were passed on.",
    "Run it again when the target can be reached: no event runs twice.",
    { cause },
  );
}
