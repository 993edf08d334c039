import type { CopySource, CopyTarget } from "@esim-webhooks/core/kit";

/** What became of the events: read = copied + alreadyThere. */
export interface CopyLedger {
  readonly read: number;
  readonly copied: number;
  /** Left as they are. */
  readonly alreadyThere: number;
}

/** Copies everything that the source keeps. What the target has stays as it is, so this can be done again after a failure. */
export async function copyRecords(source: CopySource, target: CopyTarget): Promise<CopyLedger> {
  let [read, copied] = [0, 0];
  for await (const records of source.events()) {
    copied += await target.insertEvents(records);
    read += records.length;
  }
  for await (const records of source.latest()) await target.insertLatest(records);
  for await (const records of source.states()) await target.insertStates(records);
  return { read, copied, alreadyThere: read - copied };
}
