import { type Checkpoint, type CheckpointFile, mismatch } from "./checkpoint.ts";
import type { Verdict } from "./destination.ts";
import type { ImportSettings } from "./import-options.ts";
import { type OpenLedger, openLedger } from "./ledger.ts";
import { openRejectsFile, rejectLine } from "./rejects-file.ts";
import type { Stretch } from "./stretch.ts";

/** What an import writes down: its ledger, the rejects, and how far it is. */
export interface Journal {
  readonly ledger: Pick<OpenLedger, "tally" | "total">;
  /** Before anything is handed over: from now on, another run goes on by the same name. */
  begin(): Promise<void>;
  /** Writes down what became of the next records of the dump. */
  settle(stretch: Stretch<unknown>, verdicts: readonly Verdict[]): Promise<void>;
  /** Notes how far it is, for another run to go on there. */
  interrupt(): Promise<void>;
  /** There is nothing to go on with. */
  complete(): Promise<void>;
  close(): Promise<void>;
}

const saveEveryMs = 1000;

/** Goes on from `found`. Throws `checkpoint_mismatch` where the rejects file is not the one of then. */
export async function openJournal(
  { rejectsFile }: Pick<ImportSettings, "rejectsFile">,
  run: string,
  file: CheckpointFile | undefined,
  found: Checkpoint | undefined,
): Promise<Journal> {
  const ledger = openLedger(found?.tally);
  const rejects = rejectsFile && (await openRejectsFile(rejectsFile, found?.rejectsBytes ?? 0));
  if (rejectsFile && !rejects) throw mismatch("goes with another rejects file");
  let savedAt = performance.now();
  let begun: Promise<void> | undefined;

  async function save(): Promise<void> {
    const rejectsBytes = rejects ? await rejects.flushed() : (found?.rejectsBytes ?? 0);
    await file?.save({ run, tally: ledger.tally(), rejectsBytes });
    savedAt = performance.now();
  }

  return {
    ledger,
    begin() {
      begun ??= file ? save() : Promise.resolve();
      return begun;
    },
    async settle({ records }, verdicts) {
      let handedOver = 0;
      let lines = "";
      for (const { verdict: known, type, occurredMs, line, raw } of records) {
        const verdict = known ?? (verdicts[handedOver++] as Verdict);
        const { fate, code, reason = "", isForced = false } = verdict;
        ledger.add(fate, type, occurredMs, isForced);
        if (line !== null) lines += line;
        else if (raw !== null && code !== undefined) lines += rejectLine(raw, code, reason);
      }
      if (rejects && lines !== "") await rejects.append(lines);
      if (file && performance.now() - savedAt >= saveEveryMs) await save();
    },
    async interrupt() {
      if (begun || found) await save();
    },
    async complete() {
      await file?.remove();
    },
    async close() {
      if (rejects) await rejects.close();
    },
  };
}
