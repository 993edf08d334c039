import { randomUUID } from "node:crypto";
import { WebhookError } from "@esim-webhooks/core";
import {
  type Checkpoint,
  type CheckpointFile,
  checkpointFile,
  mismatch,
  optionsFingerprint,
} from "./checkpoint.ts";
import type { ImportSettings } from "./import-options.ts";
import type { WatchedInput } from "./input.ts";
import { openRejectsFile, type RejectsFile } from "./rejects-file.ts";
import { type OpenLedger, openLedger } from "./replay/ledger.ts";
import { rejectLine } from "./replay/rejected-record.ts";
import type { RecordsJournal } from "./replay/replay-records.ts";
import type { Verdict } from "./replay/sink.ts";

/** What an import writes down: its ledger, the rejects, and how far it is. */
export interface Journal extends RecordsJournal {
  /** The import's name: that of the run before, where it goes on from one. */
  run(): string;
  /** How many records the run before had settled. */
  resumedAfter(): number;
  ledger(): Pick<OpenLedger, "tally" | "total">;
  /** Finds where to go on. Rejects with `checkpoint_mismatch` where that was another import. */
  open(): Promise<void>;
  /** Notes how far it is, for another run to go on there. */
  interrupt(): Promise<void>;
  /** There is nothing to go on with. Rejects with `checkpoint_mismatch` where the run before had come further. */
  complete(): Promise<void>;
  /**
   * The dump has to be got again, and read from its start. By force it is so under the same name, so that what this run has
   * forced is not forced once more.
   */
  completeDamaged(): Promise<void>;
  close(): Promise<void>;
}

const saveEveryMs = 1000;
const isOfAnother = "is of another dump";

/** @param target the kind of it, which decides what becomes of a record */
export function createJournal(settings: ImportSettings, target: string, input: WatchedInput): Journal {
  let run: string = randomUUID();
  let resumedAfter = 0;
  let toSkip = 0;
  let last: Checkpoint["last"] = null;
  let ledger = openLedger();
  let file: CheckpointFile | undefined;
  let rejects: RejectsFile | undefined;
  let rejectsBytes = 0;
  let savedAt = performance.now();
  let begun: Promise<void> | undefined;
  let saving: Promise<void> = Promise.resolve();

  /** All of it of one moment, and one after the other: what is handed over goes on meanwhile. */
  function save(): Promise<void> {
    const saved = saving.then(async () => {
      savedAt = performance.now();
      const checkpoint = { run, tally: ledger.tally(), last, rejectsBytes: rejects?.bytes() ?? rejectsBytes };
      await rejects?.flush();
      await file?.save(checkpoint);
    });
    saving = saved.catch(() => {});
    return saved;
  }

  return {
    run: () => run,
    resumedAfter: () => resumedAfter,
    ledger: () => ledger,
    async open() {
      const { checkpointFile: path, rejectsFile, dryRun } = settings;
      await refuseInput(input, { checkpointFile: path, rejectsFile });
      // a dry run neither goes on from one nor leaves one
      const opened =
        path === undefined || dryRun
          ? undefined
          : checkpointFile(path, await input.fingerprint(), optionsFingerprint(settings, target));
      const found = await opened?.load();
      if (rejectsFile !== undefined) {
        rejects = await openRejectsFile(rejectsFile, found?.rejectsBytes ?? 0);
        if (rejects === undefined) throw mismatch("goes with another rejects file");
      }
      file = opened;
      if (found === undefined) return;
      ({ run, rejectsBytes, last } = found);
      resumedAfter = found.tally.ledger.read;
      toSkip = resumedAfter;
      ledger = openLedger(found.tally);
      begun = Promise.resolve();
    },
    wasSettled({ record, offset }) {
      if (toSkip === 0) return false;
      toSkip -= 1;
      // sorted, one record more may have come in between; in the order of the dump, one may be whole that was damaged
      if (toSkip === 0 && (record !== last?.record || offset !== last.offset)) throw mismatch(isOfAnother);
      return true;
    },
    begin() {
      begun ??= file ? save() : Promise.resolve();
      return begun;
    },
    async settle({ records }, verdicts) {
      let handedOver = 0;
      let lines = "";
      const settled = records.map(({ verdict, type, occurredMs, line, raw }) => {
        const { fate, code, reason = "", isForced = false } = verdict ?? (verdicts[handedOver++] as Verdict);
        if (line !== null) lines += line;
        else if (raw !== null && code !== undefined) lines += rejectLine(raw, code, reason);
        return { fate, type, occurredMs, isForced };
      });
      if (lines !== "") await rejects?.append(lines);
      for (const { fate, type, occurredMs, isForced } of settled)
        ledger.add(fate, type, occurredMs, isForced);
      const end = records.at(-1)?.position;
      if (end !== undefined) last = { record: end.record, offset: end.offset };
      if (file && performance.now() - savedAt >= saveEveryMs) await save();
    },
    async interrupt() {
      if (begun) await save();
    },
    async complete() {
      if (toSkip > 0) throw mismatch(isOfAnother);
      await rejects?.cutOff();
      await file?.remove();
    },
    async completeDamaged() {
      await rejects?.cutOff();
      if (begun && settings.force) {
        await file?.save({ run, tally: openLedger().tally(), last: null, rejectsBytes: 0 });
      } else {
        await file?.remove();
      }
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
