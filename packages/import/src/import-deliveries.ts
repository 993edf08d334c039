import { type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { readDump } from "./dump/read-dump.ts";
import type { RawRecord } from "./dump/record.ts";
import { type ImportOptions, parseImportOptions } from "./import-options.ts";
import type { ImportReport } from "./import-report.ts";
import { watchInput } from "./input.ts";
import { createJournal } from "./journal.ts";
import { createProgress } from "./progress.ts";
import { createQuestions, createTimeReader } from "./replay/classify.ts";
import { openLedger } from "./replay/ledger.ts";
import { replay } from "./replay/replay.ts";
import { isReason } from "./replay/replay-records.ts";
import { kindOf, openSinkOf, type ReplayTarget } from "./replay/target.ts";
import { oldestFirst as sortOldestFirst } from "./sort/oldest-first.ts";

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
  target: ReplayTarget<Data, Tx>,
  options: ImportOptions<Data, Tx> = {},
): Promise<ImportReport> {
  const settings = parseImportOptions(options);
  const { signal, logger, dryRun, oldestFirst, onProgress } = settings;
  const watched = watchInput(input, signal);
  const openSink = openSinkOf(target as ReplayTarget<unknown, never>, settings);
  const questions = createQuestions(settings);
  const dump = readDump(watched.bytes, settings);
  const readable = untilDamage(dump.batches, watched.check);
  const records = oldestFirst
    ? sortOldestFirst(readable.batches, { occurredMs: createTimeReader(questions) })
    : readable.batches;
  const journal = createJournal(settings, kindOf(target), watched);
  let ledger = openLedger();
  const progress = createProgress(onProgress, watched.bytesRead, () => ledger.total(), logger);
  let interrupted = false;
  try {
    await journal.open();
    ledger = openLedger(journal.tally);
    await replay(journal.unsettled(records), {
      questions,
      openSink,
      journal,
      ledger,
      signal,
      tell: progress.tell,
    });
    if (readable.damage() === null) await journal.complete();
    else await journal.completeDamaged();
  } catch (error) {
    interrupted = isReason(error, signal);
    await journal.interrupt(ledger.tally).catch((err: unknown) => {
      logger.error({ err }, "The checkpoint file was not written: the next run goes on from the one before.");
    });
    if (!interrupted) {
      progress.tellFailure(error);
      throw error;
    }
  } finally {
    watched.close();
    await journal.close();
  }
  const damage = interrupted ? null : readable.damage();
  progress.tellTheEnd(interrupted ? "interrupted" : damage === null ? "complete" : "damaged");
  return {
    run: journal.run,
    dryRun,
    interrupted,
    forms: [...dump.forms],
    bytesRead: watched.bytesRead(),
    resumedAfter: journal.tally?.ledger.read ?? 0,
    ...ledger.tally(),
    damage,
  };
}

/** What there is to read. Damage ends it, and is told later, since everything before it counts. */
function untilDamage(batches: AsyncIterable<readonly RawRecord[]>, check: () => void): Readable {
  let damage: ImportReport["damage"] = null;
  async function* undamaged(): AsyncGenerator<readonly RawRecord[]> {
    try {
      for await (const batch of batches) {
        check(); // else half a record at the end of the input would count as a bad one
        yield batch;
      }
    } catch (error) {
      check(); // the input's own failure, which a decoder may have wrapped
      if (!WebhookError.is(error)) throw error;
      damage = { code: error.code, message: error.message };
    }
    check();
  }
  return { batches: undamaged(), damage: () => damage };
}

interface Readable {
  readonly batches: AsyncIterable<readonly RawRecord[]>;
  damage(): ImportReport["damage"];
}
