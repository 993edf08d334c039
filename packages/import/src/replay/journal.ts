import type { Position, RawRecord } from "../dump/record.ts";
import type { Fate, ReplayCounts } from "./ledger.ts";

/** The result of a record. */
export interface RecordVerdict {
  /** Where the record is in the dump. */
  readonly position: Position;
  /** The webhook-id of its event; empty if none can be read. */
  readonly id: string;
  /** The event type. Null: none can be read. */
  readonly type: string | null;
  /** When its event occurred, in ms since the Unix epoch; NaN if that cannot be read. */
  readonly occurredMs: number;
  /** The `status` field of a delivery record, unchanged. */
  readonly status: string | null;
  /** The column of the ledger in which it is counted. */
  readonly fate: Fate;
  /** Why it was refused, as in the rejects file: `failed` or `busy`, for instance. Absent if it was not refused. */
  readonly code?: string;
}

/** Records how far a replay has come. With a journal in a file or a database, the next run can continue there. */
export interface ReplayJournal {
  /** The name of this run. A run that continues keeps the name: `force` runs an event again once per name. */
  readonly run: string;
  /** The counts from before the run was interrupted. Pass only the records after those to the replay. */
  readonly tally?: ReplayCounts | undefined;
  /** Called before each batch of events is passed to the target. Save the name here: the process may be killed right after. */
  begin?(tally: () => ReplayCounts): Promise<void>;
  /** Called with conflicts, invalid and rejected records before they are counted: NDJSON of `RejectedRecord`. */
  reject?(lines: string): Promise<void>;
  /** Called with the next records, in order, once they and all records before them are settled and counted. */
  settle?(verdicts: readonly RecordVerdict[], tally: () => ReplayCounts): Promise<void>;
}

/** A line of the rejects file. */
export interface RejectedRecord {
  /** Where the record is in the dump. */
  readonly position: Position;
  /** The webhook-id of its event, if it can be read. Not proven unless the record was verified. */
  readonly id?: string;
  /** Why it was refused. Stable, for programs. */
  readonly code: string;
  /** Does not quote the record. */
  readonly reason: string;
  /** The record. Absent if its text has a fault. */
  readonly record?: unknown;
  /** In place of `record`: a text that is not JSON, not a record or nested too deeply. Absent if it is too large. */
  readonly text?: string | undefined;
}

/** The record as a line of the rejects file. `id` is empty if none can be read. */
export function rejectLine(raw: RawRecord, id: string, code: string, reason: string): string {
  const { position } = raw;
  const what = "value" in raw ? { record: raw.value } : { text: raw.text };
  const line: RejectedRecord = { position, ...(id !== "" && { id }), code, reason, ...what };
  return `${JSON.stringify(line)}\n`;
}
