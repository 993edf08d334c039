import { type EsimEvents, WebhookError } from "@esim-webhooks/core";
import { checkArguments, noteRun } from "@esim-webhooks/core/internal";
import { readDump } from "./dump/read-dump.ts";
import type { RawRecord } from "./dump/record.ts";
import { createJournal } from "./file-journal.ts";
import { watchInput } from "./input.ts";
import { type ImportOptions, parseImportOptions } from "./replay/options.ts";
import { type ReplayReport, replay } from "./replay/replay.ts";
import { type ReplayTarget, targetKind } from "./replay/target.ts";

/** The result of an import. Plain JSON. */
export interface ImportReport extends ReplayReport {
  /** The formats detected in the dump, such as `["gzip", "ndjson"]`. */
  readonly forms: readonly string[];
  /** How many bytes of the dump this run read; compressed bytes if it is compressed. */
  readonly bytesRead: number;
  /** How many records the interrupted run that this one continues had settled; 0 if there is none. */
  readonly resumedAfter: number;
  /** Why the dump could not be read completely; all records that could be read are in the ledger. Null for a whole dump, and if `interrupted`. */
  readonly damage: DumpDamage | null;
}

/** The error that ended the reading of a dump, as data: the problem, the remedy, and the option whose limit was reached, if any. */
export interface DumpDamage {
  /** Stable, for programs: docs/errors.md lists what to do. */
  readonly code: string;
  /** The problem, the remedy, and where the error occurred. */
  readonly message: string;
  /** The problem: a sentence. */
  readonly problem: string;
  /** How to fix it: a sentence. */
  readonly remedy: string;
  /** The option whose limit was reached. */
  readonly option?: string;
}

/**
 * Replays a dump: a file from support, an export of the deliveries listing, or requests that a proxy
 * captured. It detects the format from the content: see docs/import.md. Ids that are stored or done are duplicates and do
 * not run; handlers see `context.replayed`. A bad record does not stop the import. Memory does not grow with the dump.
 *
 * Resolves to a report whose ledger balances, also when the signal aborted (`interrupted`) or the dump could
 * not be read completely (`damage`). Rejects with `store_unavailable` when the target cannot be reached; with `unsigned_dump` at the
 * first record without a signature unless `trustUnsigned`; with `source_unknown` when the target holds only events of other
 * sources, unless `newSource`; with `missing_secret` or `invalid_secret` at the first signed
 * request; with `checkpoint_mismatch`, `checkpoint_in_use` or `foreign_file`; and with `invalid_option`, `unknown_event_type` or `async_schema` for a mistake in
 * the set-up. To complete an import, run it again: it continues from its `checkpointFile`, or starts over without one; events that
 * are stored or done are duplicates.
 * @param input the bytes of the dump, packed or not: a file's stream, standard input, a download
 * @param target an inbox, handlers (with `store`) or a processor
 * @param options how the dump is read, filtered and replayed
 */
export async function importDeliveries<Data = EsimEvents, Tx = unknown>(
  input: AsyncIterable<Uint8Array>,
  target: ReplayTarget<Data, Tx>,
  options: ImportOptions<Data, Tx> = {},
): Promise<ImportReport> {
  checkArguments(
    "importDeliveries",
    { dump: [input], target: [target, "an inbox", "a map of handlers"], options: [options] },
    "Pass the bytes of the dump, then an inbox or handlers, then options: importDeliveries(createReadStream(path), inbox, { source }).",
  );
  const settings = parseImportOptions(options);
  const { signal, logger, source, dryRun, onProgress } = settings;
  const watched = watchInput(input, signal);
  const { bytesRead } = watched;
  const dump = readDump(watched.bytes, settings);
  const { batches, damage } = untilDamage(dump.batches, watched.check);
  const journal = createJournal(settings, targetKind(target), watched, () => damage() !== null);
  const startedAt = new Date();
  const report = await replay(
    {
      records: batches,
      journal,
      bytesRead,
      onProgress:
        onProgress && ((ledger) => onProgress({ bytesRead: bytesRead(), records: ledger.read, ledger })),
      async onEnd(outcome, ledger) {
        if (dryRun) return;
        const { run } = journal;
        const times = { startedAt, endedAt: new Date() };
        await noteRun(target, { kind: "import", run, source, ...times, outcome, ledger }, logger);
      },
    },
    target as ReplayTarget<unknown, never>,
    settings,
  );
  return {
    ...report,
    forms: [...dump.forms],
    bytesRead: bytesRead(),
    resumedAfter: journal.tally?.ledger.read ?? 0,
    damage: report.interrupted ? null : damage(),
  };
}

/** Returns the batches. Where the dump cannot be read further, they end without an error, which `damage` then returns. */
function untilDamage(batches: AsyncIterable<readonly RawRecord[]>, check: () => void): Readable {
  let damage: ImportReport["damage"] = null;
  async function* undamaged(): AsyncGenerator<readonly RawRecord[]> {
    try {
      for await (const batch of batches) {
        check(); // a failed input must not make its last, incomplete record count as a bad one
        yield batch;
      }
    } catch (error) {
      check(); // throws the input's own error, which a decoder may have wrapped
      if (!WebhookError.is(error)) throw error;
      const { code, message, problem, remedy, option } = error;
      damage = { code, message, problem, remedy, ...(option !== undefined && { option }) };
    }
    check();
  }
  return { batches: undamaged(), damage: () => damage };
}

interface Readable {
  readonly batches: AsyncIterable<readonly RawRecord[]>;
  damage(): ImportReport["damage"];
}
