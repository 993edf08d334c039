import { WebhookError } from "../errors.ts";
import type { Destination, Verdict } from "./destination.ts";
import type { Journal } from "./journal.ts";
import type { Judged } from "./judge.ts";
import type { RawRecord } from "./record.ts";
import { createSettling } from "./settling.ts";
import { createStretchBuilder, type Stretch } from "./stretch.ts";

export interface RecordsImport<Item> {
  readonly judge: (raw: RawRecord) => Judged<Item>;
  readonly destination: Destination<Item>;
  readonly journal: Journal;
  /** Throws when the input has failed, or is not to be read any more. */
  readonly check: () => void;
  readonly onBatch: () => void;
}

/**
 * Record by record, and stretch by stretch, after those that the run before had settled. Once it has ended, in whatever way,
 * nothing is under way any more, and what could be settled is.
 */
export async function importRecords<Item>(
  batches: AsyncIterable<readonly RawRecord[]>,
  { judge, destination, journal, check, onBatch }: RecordsImport<Item>,
): Promise<void> {
  const builder = createStretchBuilder<Item>(destination.stretch);
  const settling = createSettling(destination.atOnce, perform, journal.settle);
  let toSkip = journal.resumedAfter();

  async function perform({ items }: Stretch<Item>): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin();
    return destination.handOver(items).catch((error: unknown) => {
      throw stopped(error);
    });
  }

  async function handOver(): Promise<void> {
    check(); // else half a record at the end of the input would count as a bad one
    await settling.begin(builder.take());
  }

  try {
    for await (const batch of batches) {
      for (const raw of batch) {
        if (toSkip > 0) toSkip -= 1;
        else if (builder.add(judge(raw))) await handOver();
      }
      onBatch();
    }
    await handOver();
  } finally {
    await settling.end();
  }
}

function stopped(cause: unknown): WebhookError {
  if (WebhookError.is(cause) && cause.code !== "store_unavailable") return cause;
  return new WebhookError(
    "store_unavailable",
    "The import stopped: where the events go cannot be reached.",
    "Run it again once it can: it goes on from its checkpoint file, or from the start, and nothing comes twice.",
    { cause },
  );
}
