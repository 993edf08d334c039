import { randomUUID } from "node:crypto";
import { WebhookError } from "../errors.ts";
import type { EsimEvents } from "../esim-catalog.ts";
import { type CheckpointFile, checkpointFile, optionsFingerprint } from "./checkpoint.ts";
import type { Destination, Verdict } from "./destination.ts";
import { createFilter } from "./filter.ts";
import { type ImportOptions, type ImportSettings, parseImportOptions } from "./import-options.ts";
import type { ImportReport } from "./import-report.ts";
import { createDestination, type ImportTarget, kindOf } from "./import-target.ts";
import { type Journal, openJournal } from "./journal.ts";
import { createJudge, type Judged } from "./judge.ts";
import { createProgress } from "./progress.ts";
import { createProver } from "./proof.ts";
import { readDump } from "./read-dump.ts";
import type { RawRecord } from "./record.ts";
import { createRecordReader } from "./record-reader.ts";
import { createSettling } from "./settling.ts";
import { createStretchBuilder, type Stretch } from "./stretch.ts";
import { type WatchedInput, watchInput } from "./watched-input.ts";

/**
 * Replays a dump: what support sends, an export of the deliveries listing (spec 2.5, 4.5), or requests that a proxy
 * captured. Its form is recognised by its content: see docs/import.md. Ids that are done, or stored, are duplicates and do
 * not run; handlers see `context.replayed`. A bad record never stops it. Memory does not grow with the dump.
 *
 * Resolves to a report whose ledger balances, also when it was interrupted (`interrupted`) or when the rest of the dump could
 * not be read (`damage`). Rejects with `store_unavailable` when the target is away, `unsigned_dump` at the first record that
 * nothing proves unless `trustUnsigned`, `missing_secret` or `invalid_secret` at the first captured request,
 * `checkpoint_mismatch`, and `invalid_option`, `unknown_event_type` or `async_schema` when the set-up is wrong. Running it
 * again completes it: with a `checkpointFile` from there on, without one from the start, and nothing twice.
 * @param input the dump's bytes as they are: a file's stream, standard input, a download
 * @param target an inbox, handlers (with `store`) or a processor
 */
export async function importDeliveries<Data = EsimEvents, Tx = unknown>(
  input: AsyncIterable<Uint8Array>,
  target: NoInfer<ImportTarget<Data, Tx>>,
  options: ImportOptions<Data, Tx> = {},
): Promise<ImportReport> {
  const settings = parseImportOptions(options);
  const { signal, logger } = settings;
  const watched = watchInput(input, signal);
  const file = await openCheckpoint(settings, kindOf(target), watched);
  const found = await file?.load();
  const run = found?.run ?? randomUUID();
  const destination = createDestination(target as ImportTarget<unknown, never>, settings, run);
  const journal = await openJournal(settings, run, file, found);
  const dump = readDump(watched.bytes, settings);
  const records = readable(dump.batches, watched);
  const { total } = journal.ledger;
  const look = () => ({ bytesRead: watched.bytesRead(), records: total().read, ledger: total() });
  const progress = createProgress(settings.onProgress, look, logger);
  let interrupted = false;
  try {
    await importRecords(records.batches, {
      skip: found?.tally.ledger.read ?? 0,
      judge: createJudge({
        readRecord: createRecordReader(settings.mapping, settings.maxDepth),
        passes: createFilter(settings),
        prove: createProver(settings),
        destination,
        hasRejectsFile: settings.rejectsFile !== undefined,
      }),
      destination,
      journal,
      signal,
      onBatch: progress.tell,
    });
    await journal.complete();
  } catch (error) {
    interrupted = signal?.aborted === true && error === signal.reason;
    await journal.interrupt();
    if (!interrupted) throw error;
  } finally {
    await journal.close();
  }
  progress.tellTheEnd();
  return {
    run,
    dryRun: settings.dryRun,
    interrupted,
    forms: [...dump.forms],
    bytesRead: watched.bytesRead(),
    resumedAfter: found?.tally.ledger.read ?? 0,
    ...journal.ledger.tally(),
    damage: interrupted ? null : records.damage(),
  };
}

interface RecordsImport<Item> {
  /** So many were settled by the run before. */
  readonly skip: number;
  readonly judge: (raw: RawRecord) => Judged<Item>;
  readonly destination: Destination<Item>;
  readonly journal: Journal;
  readonly signal: AbortSignal | undefined;
  readonly onBatch: () => void;
}

/** Record by record, and stretch by stretch. Once it has ended, in whatever way, nothing is under way any more. */
async function importRecords<Item>(
  batches: AsyncIterable<readonly RawRecord[]>,
  { skip, judge, destination, journal, signal, onBatch }: RecordsImport<Item>,
): Promise<void> {
  const builder = createStretchBuilder<Item>(destination.stretch);
  const settling = createSettling(destination.atOnce, perform, journal.settle);
  let toSkip = skip;

  async function perform({ items }: Stretch<Item>): Promise<readonly Verdict[]> {
    if (items.length === 0) return [];
    await journal.begin();
    return destination.handOver(items).catch((error: unknown) => {
      throw stopped(error);
    });
  }

  async function handOver(): Promise<void> {
    signal?.throwIfAborted();
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

/** A dry run neither goes on from one nor leaves one. */
async function openCheckpoint(
  settings: ImportSettings,
  target: string,
  watched: WatchedInput,
): Promise<CheckpointFile | undefined> {
  const { checkpointFile: path, dryRun } = settings;
  if (path === undefined || dryRun) return undefined;
  return checkpointFile(path, await watched.fingerprint(), optionsFingerprint(settings, target));
}

/** What there is to read; damage ends it and is told later, since everything before it counts. */
function readable(batches: AsyncIterable<readonly RawRecord[]>, watched: WatchedInput) {
  let damage: ImportReport["damage"] = null;
  async function* undamaged(): AsyncGenerator<readonly RawRecord[]> {
    try {
      yield* batches;
    } catch (error) {
      const failed = watched.failure(); // the input's own, which a decoder may have wrapped
      if (failed) throw failed.error;
      if (!WebhookError.is(error)) throw error;
      damage = { code: error.code, message: error.message };
    }
  }
  return { batches: undamaged(), damage: () => damage };
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
