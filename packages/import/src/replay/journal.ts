import type { Position } from "../dump/record.ts";
import type { Tally } from "./ledger.ts";

/** Where a replay writes down how far it is. A journal in a file or a database lets another run go on from there. */
export interface ReplayJournal {
  /** The name of this run: the same when it goes on. `force` runs an event again once for each name. */
  readonly run: string;
  /** What this run had counted before it was interrupted. The replay gets only the records after those. */
  readonly tally?: Tally | undefined;
  /** Called each time before events are handed over, so that the name is known even if the process ends right after that. */
  begin?(tally: () => Tally): Promise<void>;
  /** Gets the records that are invalid or rejected, before they are counted: lines of NDJSON of `RejectedRecord`. */
  reject?(lines: string): Promise<void>;
  /** Called when all records up to this one are settled and counted. */
  settle?(last: Position, tally: () => Tally): Promise<void>;
}
