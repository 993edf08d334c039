import { WebhookError } from "@esim-webhooks/core";
import type { RawRecord } from "../dump/record.ts";
import { type Batch, createBatchBuilder } from "./batch.ts";
import { type Classified, createClassifier, type Questions } from "./classify.ts";
import { createInOrder } from "./in-order.ts";
import type { ReplayJournal } from "./journal.ts";
import type { OpenLedger } from "./ledger.ts";
import { rejectLine } from "./rejected-record.ts";
import type { OpenSink, Verdict } from "./sink.ts";

/** What a replay is made of. */
export interface Replay {
  readonly questions: Questions;
  readonly openSink: OpenSink<unknown>;
  readonly journal: ReplayJournal;
  readonly ledger: OpenLedger;
  readonly signal: AbortSignal | undefined;
  /** Called often. */
  readonly tell?: () => void;
}

/**
 * The way of each record: classified, taken by the sink in a batch, settled in the ledger. Once it has ended, in whatever
 * way, nothing is under way any more, and what could be settled is. Rejects with the signal's reason when that aborts.
 */
export async function replay(
  records: AsyncIterable<readonly RawRecord[]>,
  { questions, openSink, journal, ledger, signal, tell = () => {} }: Replay,
): Promise<void> {
  const sink = openSink(journal.run);
  const classify = createClassifier(questions, sink, journal.reject !== undefined);
  const builder = createBatchBuilder<unknown>(sink.batchSize);
  const inOrder = createInOrder(sink.atOnce, take, settle);

  async function take({ items }: Batch<unknown>): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin?.(ledger.tally);
    return sink.take(items).catch((error: unknown) => {
      signal?.throwIfAborted(); // a replay that was told to stop waits for nothing
      throw stopped(error);
    });
  }

  async function settle({ records }: Batch<unknown>, verdicts: readonly Verdict[]): Promise<void> {
    const last = records.at(-1);
    if (last === undefined) return;
    const all = allVerdicts(records, verdicts);
    if (journal.reject !== undefined) {
      const lines = records.map((record, index) => lineOf(record, all[index] as Verdict)).join("");
      if (lines !== "") await journal.reject(lines);
    }
    records.forEach(({ type, occurredMs }, index) => {
      const { fate, isForced = false } = all[index] as Verdict;
      ledger.add(fate, type, occurredMs, isForced);
    });
    await journal.settle?.(last.position, ledger.tally);
    tell();
  }

  async function handOver(): Promise<void> {
    signal?.throwIfAborted();
    await inOrder.begin(builder.take());
  }

  try {
    for await (const batch of records) {
      for (const raw of batch) if (builder.add(classify(raw))) await handOver();
      tell();
    }
    await handOver();
  } finally {
    await inOrder.end();
  }
}

/** Those of the classifier, and between them those of the sink. */
function allVerdicts(records: Batch<unknown>["records"], ofSink: readonly Verdict[]): readonly Verdict[] {
  let taken = 0;
  return records.map(({ verdict }) => verdict ?? (ofSink[taken++] as Verdict));
}

function lineOf({ line, raw }: Classified<unknown>, { code, reason = "" }: Verdict): string {
  if (line !== null) return line;
  return raw !== null && code !== undefined ? rejectLine(raw, code, reason) : "";
}

function stopped(cause: unknown): WebhookError<string> {
  if (WebhookError.is(cause) && cause.code !== "store_unavailable") return cause;
  return new WebhookError(
    "store_unavailable",
    "The import stopped: where the events go cannot be reached.",
    "Run it again once it can: it goes on from its checkpoint file, or from the start, and nothing comes twice.",
    { cause },
  );
}
