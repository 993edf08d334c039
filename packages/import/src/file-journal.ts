import { randomUUID } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import {
  type Checkpoint,
  type CheckpointFile,
  checkpointFile,
  mismatch,
  optionsFingerprint,
} from "./checkpoint.ts";
import type { Position, RawRecord } from "./dump/record.ts";
import type { ImportSettings } from "./import-options.ts";
import type { WatchedInput } from "./input.ts";
import { openRejectsFile, type RejectsFile } from "./rejects-file.ts";
import type { ReplayJournal } from "./replay/journal.ts";
import { createCounter, type ReplayCounts } from "./replay/ledger.ts";

/** The journal of an import: its rejects file and its checkpoint file. */
export interface ImportJournal extends Required<Omit<ReplayJournal, "tally" | "reject">> {
  /** What the previous run had counted. */
  readonly tally: ReplayCounts | undefined;
  /** Present only with a rejects file. */
  readonly reject?: (lines: string) => Promise<void>;
  /** Reads and takes over the checkpoint of the previous run. Rejects with `checkpoint_mismatch` when it is of another import. */
  open(): Promise<void>;
  /** Skips the records that the previous run has settled. Throws `checkpoint_mismatch` when they are not the same records. */
  unsettled(batches: Batches): Batches;
  /** Saves how far the import has come, so that the next run continues there. */
  interrupt(tally: () => ReplayCounts): Promise<void>;
  /** Ends a complete import. Rejects with `checkpoint_mismatch` when the previous run had settled more records. */
  complete(): Promise<void>;
  /**
   * Ends the import of a damaged dump: the next run reads the dump from its start. With `force` it keeps its name, so that
   * events which this run has forced do not run again.
   */
  completeDamaged(): Promise<void>;
  close(): Promise<void>;
}

type Batches = AsyncIterable<readonly RawRecord[]>;

const saveEveryMs = 1000;
const otherDump = "belongs to another dump";
const nothing = { bytes: 0, crc32: 0 };
const emptyCounts = (): ReplayCounts => createCounter().report();

/** @param target the kind of target: a checkpoint is for one kind only */
export function createJournal(settings: ImportSettings, target: string, input: WatchedInput): ImportJournal {
  const { checkpointFile: path, rejectsFile, dryRun, force } = settings;
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

  function wasSettled({ record, offset }: Position): boolean {
    if (toSkip === 0) return false;
    toSkip -= 1;
    // a sorted dump may have a record more; an unsorted one may have a whole record in place of a damaged one
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
        yield toSkip === 0 ? batch : batch.filter(({ position }) => !wasSettled(position));
      }
    },
    begin(tally) {
      started ??= file ? save(tally) : Promise.resolve();
      return started;
    },
    ...(rejectsFile !== undefined && {
      reject: async (lines: string) => {
        await file?.check(); // the other import writes to the same place
        await rejects?.append(lines);
      },
    }),
    async settle({ record, offset }, tally) {
      last = { record, offset };
      if (file && performance.now() - savedAt >= saveEveryMs) await save(tally);
    },
    async interrupt(tally) {
      if (started) await save(tally);
    },
    async complete() {
      if (toSkip > 0 || !input.isAsExpected()) throw mismatch(otherDump);
      await rejects?.cutOff();
      await file?.remove();
    },
    async completeDamaged() {
      await rejects?.cutOff();
      if (started && force)
        await file?.save({ run, tally: emptyCounts(), last: null, read: nothing, rejectsBytes: 0 });
      else await file?.remove();
    },
    async close() {
      await rejects?.close();
    },
  };
}

async function refuseInput(
  input: WatchedInput,
  files: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  for (const [option, path] of Object.entries(files)) {
    if (path === undefined || !(await input.isRead(path))) continue;
    throw new WebhookError(
      "invalid_option",
      `${option} is the dump itself, which would be overwritten.`,
      "Use another file.",
      { where: "importDeliveries" },
    );
  }
}
