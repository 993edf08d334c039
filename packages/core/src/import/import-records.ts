import type { RawRecord } from "../dump/record.ts";
import { WebhookError } from "../errors.ts";
import type { Destination, Verdict } from "./destination.ts";
import type { Journal } from "./journal.ts";
import type { Judged } from "./judge.ts";
import { createSettling } from "./settling.ts";
import { createStretchBuilder, type Stretch } from "./stretch.ts";

export interface RecordsImport<Item> {
  readonly judge: (raw: RawRecord) => Judged<Item>;
  readonly destination: Destination<Item>;
  readonly journal: Journal;
  /** Throws when the input has failed, or is not to be read any more. */
  readonly check: () => void;
  /** Called often. */
  readonly tell: () => void;
}

/**
 * Record by record, and stretch by stretch, after those that the run before had settled. Once it has ended, in whatever way,
 * nothing is under way any more, and what could be settled is.
 */
export async function importRecords<Item>(
  batches: AsyncIterable<readonly RawRecord[]>,
  { judge, destination, journal, check, tell }: RecordsImport<Item>,
): Promise<void> {
  const builder = createStretchBuilder<Item>(destination.stretch);
  const settling = createSettling(destination.atOnce, perform, settle);

  async function perform({ items }: Stretch<Item>): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin();
    return destination.handOver(items).catch((error: unknown) => {
      check(); // an import that was told to stop waits for nothing
      throw stopped(error);
    });
  }

  async function settle(stretch: Stretch<Item>, verdicts: readonly Verdict[]): Promise<void> {
    await journal.settle(stretch, verdicts);
    tell();
  }

  async function handOver(): Promise<void> {
    check(); // else half a record at the end of the input would count as a bad one
    await settling.begin(builder.take());
  }

  try {
    for await (const batch of batches) {
      for (const raw of batch) {
        if (!journal.wasSettled(raw.position) && builder.add(judge(raw))) await handOver();
      }
      tell();
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
