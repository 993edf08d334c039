import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { WebhookError } from "@esim-webhooks/core";
import type { RawRecord } from "../dump/record.ts";
import { flushingWhenLate } from "./batch-stream.ts";
import { type Checks, type Classified, createClassifier } from "./classify.ts";
import { createInOrder } from "./in-order.ts";
import { type RecordVerdict, type ReplayJournal, rejectLine } from "./journal.ts";
import type { Counter } from "./ledger.ts";
import type { SinkOpener, Verdict } from "./sink.ts";

/** The parts of a replay. */
export interface Replay {
  readonly checks: Checks;
  readonly openSink: SinkOpener<unknown>;
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
export async function replay(
  records: AsyncIterable<readonly RawRecord[]>,
  { checks, openSink, journal, ledger, signal, onProgress }: Replay,
): Promise<void> {
  const sink = await openSink(journal.run).catch((error: unknown) => {
    throw stoppingError(error);
  });
  const classify = createClassifier(checks, sink, journal.reject !== undefined);
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
    const settled = records.map((record) => ({
      record,
      verdict: "verdict" in record ? record.verdict : (ofSink[taken++] as Verdict),
    }));
    if (journal.reject !== undefined) {
      const lines = settled.map(({ record, verdict }) => lineOf(record, verdict)).join("");
      if (lines !== "") await journal.reject(lines);
    }
    for (const { record, verdict } of settled) {
      ledger.add(verdict.fate, record.type, record.occurredMs, verdict.isForced ?? false);
    }
    const { position } = records.at(-1) as Classified<unknown>; // no batch is empty
    await journal.settle?.(position, ledger.report, () =>
      settled.map(({ record, verdict }) => verdictOn(record, verdict)),
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
