import { setImmediate as nextTurn } from "node:timers/promises";
import { WebhookError } from "@esim-webhooks/core";
import type { RawRecord } from "../dump/record.ts";
import { type Batch, createBatchBuilder } from "./batch.ts";
import { type Checks, type Classified, createClassifier } from "./classify.ts";
import { createInOrder } from "./in-order.ts";
import type { RecordVerdict, ReplayJournal } from "./journal.ts";
import type { OpenLedger } from "./ledger.ts";
import { rejectLine } from "./rejected-record.ts";
import type { OpenSink, Verdict } from "./sink.ts";
import { withoutHoldUps } from "./without-hold-ups.ts";

/** The parts of a replay. */
export interface Replay {
  readonly checks: Checks;
  readonly openSink: OpenSink<unknown>;
  readonly journal: ReplayJournal;
  readonly ledger: OpenLedger;
  readonly signal: AbortSignal | undefined;
  /** Called often. */
  readonly onProgress: () => void;
}

/**
 * Classifies each record, hands batches to the sink, and settles the verdicts in the ledger. A batch is full, or holds what
 * was read before the source paused or failed. When it resolves or rejects, no handler runs any more, and everything that
 * could be settled is. Rejects with the signal's reason once that has aborted.
 */
export async function replay(
  records: AsyncIterable<readonly RawRecord[]>,
  { checks, openSink, journal, ledger, signal, onProgress }: Replay,
): Promise<void> {
  const sink = await openSink(journal.run).catch((error: unknown) => {
    throw stopped(error);
  });
  const classify = createClassifier(checks, sink, journal.reject !== undefined);
  const builder = createBatchBuilder<unknown>(sink.batchSize);
  const inOrder = createInOrder(sink.atOnce, take, settle);

  async function take({ items }: Batch<unknown>): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin?.(ledger.tally);
    return sink.take(items).catch((error: unknown) => {
      signal?.throwIfAborted(); // an error of an aborted replay does not matter
      throw stopped(error);
    });
  }

  async function settle({ records }: Batch<unknown>, verdicts: readonly Verdict[]): Promise<void> {
    const all = allVerdicts(records, verdicts);
    if (journal.reject !== undefined) {
      const lines = records.map((record, index) => lineOf(record, all[index] as Verdict)).join("");
      if (lines !== "") await journal.reject(lines);
    }
    records.forEach(({ type, occurredMs }, index) => {
      const { fate, isForced = false } = all[index] as Verdict;
      ledger.add(fate, type, occurredMs, isForced);
    });
    const { position } = records.at(-1) as Classified<unknown>; // no batch is empty
    await journal.settle?.(position, ledger.tally, () =>
      records.map((record, index) => verdictOn(record, all[index] as Verdict)),
    );
    onProgress();
  }

  async function handOver(): Promise<void> {
    signal?.throwIfAborted();
    const batch = builder.take();
    if (batch !== undefined) await inOrder.begin(batch);
  }

  try {
    for await (const batch of withoutHoldUps(records, handOver, inOrder.failure)) {
      for (const raw of batch) if (builder.add(classify(raw))) await handOver();
      onProgress();
      await nextTurn(); // otherwise a source that never waits keeps the process, and with it what was handed over
    }
    await handOver();
  } finally {
    await inOrder.end();
  }
}

/** The verdicts of the classifier, filled up with those of the sink. */
function allVerdicts(records: Batch<unknown>["records"], ofSink: readonly Verdict[]): readonly Verdict[] {
  let taken = 0;
  return records.map(({ verdict }) => verdict ?? (ofSink[taken++] as Verdict));
}

function verdictOn(
  { position, id, type, occurredMs, status }: Classified<unknown>,
  { fate, code }: Verdict,
): RecordVerdict {
  return { position, id, type, occurredMs, status, fate, ...(code !== undefined && { code }) };
}

function lineOf({ id, line, raw }: Classified<unknown>, { code, reason = "" }: Verdict): string {
  if (line !== null) return line;
  return raw !== null && code !== undefined ? rejectLine(raw, id, code, reason) : "";
}

function stopped(cause: unknown): WebhookError<string> {
  if (WebhookError.is(cause) && cause.code !== "store_unavailable") return cause;
  return new WebhookError(
    "store_unavailable",
    "The import stopped: its target cannot be reached.",
    "Run it again when the target can be reached: it continues from its checkpoint file, or starts over, and no event runs twice.",
    { cause },
  );
}
