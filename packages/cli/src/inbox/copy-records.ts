import type { CopySource, CopyTarget, DifferentEvent } from "@esim-webhooks/core/kit";

/** What became of the events: read = copied + updated + alreadyThere + the length of `different`. */
export interface CopyLedger {
  readonly read: number;
  readonly copied: number;
  readonly updated: number;
  /** Left as they are: in the same state, or done. */
  readonly alreadyThere: number;
  /** Left as they are, in another state. */
  readonly different: readonly DifferentEvent[];
  /** The names of the small states that were left with another value. */
  readonly differentStates: readonly string[];
}

/** Copies everything that the source keeps. This can be done again, after a failure or after the source was used again. */
export async function copyRecords(source: CopySource, target: CopyTarget): Promise<CopyLedger> {
  let [read, copied, updated] = [0, 0, 0];
  const different: DifferentEvent[] = [];
  const differentStates: string[] = [];
  for await (const records of source.events()) {
    const result = await target.copyEvents(records);
    read += records.length;
    copied += result.inserted;
    updated += result.updated;
    different.push(...result.different);
  }
  for await (const records of source.latest()) await target.copyLatest(records);
  for await (const records of source.states()) differentStates.push(...(await target.copyStates(records)));
  const alreadyThere = read - copied - updated - different.length;
  return { read, copied, updated, alreadyThere, different, differentStates };
}
