import { WebhookError } from "@esim-webhooks/core";
import type { Position, RawRecord } from "../dump/record.ts";
import type { Judged } from "./classify.ts";
import { createSettling } from "./settling.ts";
import type { Destination, Verdict } from "./sink.ts";
import { createStretchBuilder, type Stretch } from "./stretch.ts";

/** What a replay writes down while it goes on. */
export interface RecordsJournal {
  /**
   * Whether the run before has settled it: asked of each record, in order. Throws `checkpoint_mismatch` where they are not
   * those that it had.
   */
  wasSettled(position: Position): boolean;
  /** Before anything is handed over: from now on, another run goes on by the same name. */
  begin(): Promise<void>;
  /** Writes down what became of the next records of the dump. */
  settle(stretch: Stretch<unknown>, verdicts: readonly Verdict[]): Promise<void>;
}

export interface RecordsImport<Item> {
  readonly judge: (raw: RawRecord) => Judged<Item>;
  readonly destination: Destination<Item>;
  readonly journal: RecordsJournal;
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

function stopped(cause: unknown): WebhookError<string> {
  if (WebhookError.is(cause) && cause.code !== "store_unavailable") return cause;
  return new WebhookError(
    "store_unavailable",
    "The import stopped: where the events go cannot be reached.",
    "Run it again once it can: it goes on from its checkpoint file, or from the start, and nothing comes twice.",
    { cause },
  );
}
