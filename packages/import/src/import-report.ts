import type { Ledger } from "./replay/ledger.ts";
import type { ReplayReport } from "./replay/replay-records.ts";

/** How far an import is. */
export interface ImportProgress {
  /** Of the input as given: of a compressed dump, compressed bytes. */
  readonly bytesRead: number;
  /** Records whose fate is settled, those of the run before included. */
  readonly records: number;
  readonly ledger: Ledger;
}

/** What became of a dump. Plain JSON. */
export interface ImportReport extends ReplayReport {
  /** What the dump was recognised as, such as `["gzip", "ndjson"]`. */
  readonly forms: readonly string[];
  /** Of the input as given, by this run. */
  readonly bytesRead: number;
  /** How many records were settled by the run that this one went on from. */
  readonly resumedAfter: number;
  /** The rest of the dump could not be read: everything before it was imported. */
  readonly damage: { readonly code: string; readonly message: string } | null;
}
