import type { Position } from "../dump/record.ts";
import type { Fate, Tally } from "./ledger.ts";

/** What became of a record. */
export interface RecordVerdict {
  readonly position: Position;
  /** The webhook-id of its event; empty if none can be read. */
  readonly id: string;
  readonly type: string | null;
  /** When its event occurred, in ms since the Unix epoch; NaN if that cannot be read. */
  readonly occurredMs: number;
  /** The `status` of a delivery record, as it stands there. */
  readonly status: string | null;
  readonly fate: Fate;
  /** Why it was refused, as in the rejects file: `failed`, `busy`, for instance. Absent if it was not. */
  readonly code?: string;
}

/** Records how far a replay has come. With a journal in a file or a database, the next run can continue there. */
export interface ReplayJournal {
  /** The name of this run. A run that continues keeps the name: `force` runs an event again once per name. */
  readonly run: string;
  /** What was counted before the run was interrupted. Pass only the records after those to the replay. */
  readonly tally?: Tally | undefined;
  /** Called before each batch of events is handed over. Save the name here: the process may be killed right after. */
  begin?(tally: () => Tally): Promise<void>;
  /** Called with conflicts, invalid and rejected records before they are counted: NDJSON of `RejectedRecord`. */
  reject?(lines: string): Promise<void>;
  /** Called when all records up to `last` are settled and counted. `verdicts` are those since the last call, in order. */
  settle?(last: Position, tally: () => Tally, verdicts: () => readonly RecordVerdict[]): Promise<void>;
}
