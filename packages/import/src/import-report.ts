import type { Ledger } from "./replay/ledger.ts";
import type { ReplayReport } from "./replay/replay-records.ts";

/** The progress of an import. */
export interface ImportProgress {
  /** How many bytes of the dump were read; compressed bytes if it is compressed. */
  readonly bytesRead: number;
  /** How many records have a fate. Includes those of the interrupted run that this one continues. */
  readonly records: number;
  readonly ledger: Ledger;
}

/** The result of an import. Plain JSON. */
export interface ImportReport extends ReplayReport {
  /** The formats detected in the dump, such as `["gzip", "ndjson"]`. */
  readonly forms: readonly string[];
  /** How many bytes of the dump this run read; compressed bytes if it is compressed. */
  readonly bytesRead: number;
  /** How many records the interrupted run that this one continues had settled; 0 if there is none. */
  readonly resumedAfter: number;
  /** Why the rest of the dump could not be read; everything before the damage was imported. Null for a whole dump. */
  readonly damage: DumpDamage | null;
}

/** The error that ended the reading of a dump, as data: its two halves, and the option whose limit was reached, if it was one. */
export interface DumpDamage {
  readonly code: string;
  readonly message: string;
  readonly problem: string;
  readonly remedy: string;
  readonly option?: string;
}
