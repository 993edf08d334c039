import { randomUUID } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import {
  type Checkpoint,
  type CheckpointFile,
  checkpointFile,
  mismatch,
  optionsFingerprint,
} from "./checkpoint.ts";
import type { Position } from "./dump/record.ts";
import type { WatchedInput } from "./input.ts";
import { openRejectsFile, type RejectsFile } from "./own-file.ts";
import type { RecordVerdict } from "./replay/journal.ts";
import { createCounter, type ReplayCounts } from "./replay/ledger.ts";
import type { ImportSettings } from "./replay/options.ts";
import type { DriverJournal } from "./replay/replay.ts";

/** The journal of an import: its rejects file and its checkpoint file. */
export interface ImportJournal extends DriverJournal {
  /** The counts of the interrupted run that this one continues. */
  readonly tally: ReplayCounts | undefined;
}

const saveEveryMs = 1000;
const otherDump = "belongs to another dump";
const nothing = { bytes: 0, crc32: 0 };
const emptyCounts = (): ReplayCounts => createCounter().report();

/**
 * Creates a journal. Its `open` opens the files of the import, and rejects with `checkpoint_mismatch` when the checkpoint is of another import.
 * @param target the kind of target: a checkpoint is for one kind only
 * @param isDamaged whether the rest of the dump could not be read
 */
export function createJournal(
  settings: ImportSettings,
  target: string,
  input: WatchedInput,
  isDamaged: () => boolean,
): ImportJournal {
  const { checkpointFile: path, rejectsFile, dryRun, force, logger } = settings;
  let run: string = randomUUID();
  let found: Checkpoint | undefined;
  let toSkip = 0;
  let last: Checkpoint["last"] = null;
  let file: CheckpointFile | undefined;
  let rejects: RejectsFile | undefined;
  let rejectsBytes = 0;
  let savedAt = performance.now();
  let started: Promise<void> | undefined;
  let saving: Promise<void> = Promise.resolve();

  /** Saves one consistent state, one save after the other. Meanwhile, events are still passed to the target. */
  function save(tally: () => ReplayCounts): Promise<void> {
    const saved = saving.then(async () => {
      if (!input.isAsExpected()) return; // it may be another dump: the file stays as the previous run left it
      savedAt = performance.now();
      const checkpoint = {
        run,
        tally: tally(),
        last,
        read: last === null ? nothing : input.prefix(),
        rejectsBytes: rejects?.bytes() ?? rejectsBytes,
      };
      await rejects?.flush();
      await file?.save(checkpoint);
    });
    saving = saved.catch(() => {});
    return saved;
  }

  async function completeRejects(): Promise<void> {
    await rejects?.cutOff();
    await rejects?.flush();
  }

  /**
   * Leaves the files so that the next run reads the dump from its start. With `force`, that run keeps the name of this one, so that events
   * which this run has forced do not run again.
   */
  async function completeDamaged(): Promise<void> {
    await completeRejects();
    if (started && force)
      await file?.save({ run, tally: emptyCounts(), last: null, read: nothing, rejectsBytes: 0 });
    else await file?.remove();
  }

  /** Returns whether the previous run has settled the record, and counts it: such records come first, in the same order. */
  function skipIfSettled({ record, offset }: Position): boolean {
    if (toSkip === 0) return false;
    toSkip -= 1;
    // then this is another dump: it has more records, which were sorted before, or a whole record in place of a damaged one
    if (toSkip === 0 && (record !== last?.record || offset !== last.offset)) throw mismatch(otherDump);
    return true;
  }

  return {
    get run() {
      return run;
    },
    get tally() {
      return found?.tally;
    },
    async open() {
      await refuseInput(input, { checkpointFile: path, rejectsFile });
      // a dry run reads no checkpoint and writes none
      const opened =
        path === undefined || dryRun
          ? undefined
          : checkpointFile(path, await input.fingerprint(), optionsFingerprint(settings, target));
      found = await opened?.load();
      if (rejectsFile !== undefined) {
        rejects = await openRejectsFile(rejectsFile, found?.rejectsBytes ?? 0);
        if (rejects === undefined) throw mismatch("belongs to another rejects file");
      }
      file = opened;
      if (found === undefined) return;
      ({ run, rejectsBytes, last } = found);
      input.expect(found.read, mismatch(otherDump));
      toSkip = found.tally.ledger.read;
      started = Promise.resolve();
    },
    async *unsettled(batches) {
      for await (const batch of batches) {
        yield toSkip === 0 ? batch : batch.filter(({ position }) => !skipIfSettled(position));
      }
    },
    begin(tally) {
      started ??= file ? save(tally) : Promise.resolve();
      return started;
    },
    ...(rejectsFile !== undefined && {
      reject: async (lines: string) => {
        await file?.check(); // an import that has taken over writes to the same place of that file
        await rejects?.append(lines);
      },
    }),
    async settle(verdicts, tally) {
      settings.onSettled?.(verdicts);
      const { record, offset } = (verdicts.at(-1) as RecordVerdict).position; // no batch is empty
      last = { record, offset };
      if (file && performance.now() - savedAt >= saveEveryMs) await save(tally);
    },
    async interrupt(tally) {
      if (!started) return;
      await save(tally).catch((err: unknown) => {
        logger.error(
          { err },
          "The checkpoint file could not be written: the next run continues from the last one.",
        );
      });
    },
    async finish() {
      if (isDamaged()) {
        await completeDamaged();
        return "damaged";
      }
      if (toSkip > 0 || !input.isAsExpected()) throw mismatch(otherDump);
      await completeRejects();
      await file?.remove();
      return "complete";
    },
    async close() {
      input.close();
      await rejects?.close();
    },
  };
}

async function refuseInput(
  input: WatchedInput,
  files: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  for (const [option, path] of Object.entries(files)) {
    if (path === undefined || !(await input.isOfFile(path))) continue;
    throw new WebhookError(
      "invalid_option",
      `${option} is the dump itself, which would be overwritten.`,
      "Use another file.",
      { where: "importDeliveries" },
    );
  }
}
