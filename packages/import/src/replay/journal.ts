import type { Position } from "../dump/record.ts";
import type { Tally } from "./ledger.ts";

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
  /** Called when all records up to `last` are settled and counted. */
  settle?(last: Position, tally: () => Tally): Promise<void>;
}
