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
import { openLedger, type Tally } from "./replay/ledger.ts";

/** What an import writes down: the rejects, and how far it is. */
export interface ImportJournal extends Required<Omit<ReplayJournal, "tally" | "reject">> {
  /** What the run before had counted. */
  readonly tally: Tally | undefined;
  /** Only with a rejects file. */
  readonly reject?: (lines: string) => Promise<void>;
  /** Finds where to go on. Rejects with `checkpoint_mismatch` where that was another import. */
  open(): Promise<void>;
  /** The records that the run before had not settled. Throws `checkpoint_mismatch` where the others are not those it had. */
  unsettled(batches: Batches): Batches;
  /** Notes how far it is, for another run to go on there. */
  interrupt(tally: () => Tally): Promise<void>;
  /** There is nothing to go on with. Rejects with `checkpoint_mismatch` where the run before had come further. */
  complete(): Promise<void>;
  /**
   * The dump has to be got again, and read from its start. By force it is so under the same name, so that what this run has
   * forced is not forced once more.
   */
  completeDamaged(): Promise<void>;
  close(): Promise<void>;
}

type Batches = AsyncIterable<readonly RawRecord[]>;

const saveEveryMs = 1000;
const isOfAnother = "is of another dump";
const nothing = (): Tally => openLedger().tally();

/** @param target the kind of it, which decides what becomes of a record */
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
  let begun: Promise<void> | undefined;
  let saving: Promise<void> = Promise.resolve();

  /** All of it of one moment, and one after the other: what is handed over goes on meanwhile. */
  function save(tally: () => Tally): Promise<void> {
    const saved = saving.then(async () => {
      savedAt = performance.now();
      const checkpoint = { run, tally: tally(), last, rejectsBytes: rejects?.bytes() ?? rejectsBytes };
      await rejects?.flush();
      await file?.save(checkpoint);
    });
    saving = saved.catch(() => {});
    return saved;
  }

  function wasSettled({ record, offset }: Position): boolean {
    if (toSkip === 0) return false;
    toSkip -= 1;
    // sorted, one record more may have come in between; in the order of the dump, one may be whole that was damaged
    if (toSkip === 0 && (record !== last?.record || offset !== last.offset)) throw mismatch(isOfAnother);
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
      // a dry run neither goes on from one nor leaves one
      const opened =
        path === undefined || dryRun
          ? undefined
          : checkpointFile(path, await input.fingerprint(), optionsFingerprint(settings, target));
      found = await opened?.load();
      if (rejectsFile !== undefined) {
        rejects = await openRejectsFile(rejectsFile, found?.rejectsBytes ?? 0);
        if (rejects === undefined) throw mismatch("goes with another rejects file");
      }
      file = opened;
      if (found === undefined) return;
      ({ run, rejectsBytes, last } = found);
      toSkip = found.tally.ledger.read;
      begun = Promise.resolve();
    },
    async *unsettled(batches) {
      for await (const batch of batches) {
        yield toSkip === 0 ? batch : batch.filter(({ position }) => !wasSettled(position));
      }
    },
    begin(tally) {
      begun ??= file ? save(tally) : Promise.resolve();
      return begun;
    },
    ...(rejectsFile !== undefined && { reject: async (lines: string) => rejects?.append(lines) }),
    async settle({ record, offset }, tally) {
      last = { record, offset };
      if (file && performance.now() - savedAt >= saveEveryMs) await save(tally);
    },
    async interrupt(tally) {
      if (begun) await save(tally);
    },
    async complete() {
      if (toSkip > 0) throw mismatch(isOfAnother);
      await rejects?.cutOff();
      await file?.remove();
    },
    async completeDamaged() {
      await rejects?.cutOff();
      if (begun && force) await file?.save({ run, tally: nothing(), last: null, rejectsBytes: 0 });
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
      `importDeliveries: ${option} is the dump itself, which would be overwritten.`,
      "Give it a name of its own.",
    );
  }
}
