import type { Ledger, Span } from "./replay/ledger.ts";

/** How far an import is. */
export interface ImportProgress {
  /** Of the input as given: of a compressed dump, compressed bytes. */
  readonly bytesRead: number;
  /** Records whose fate is settled, those of the run before included. */
  readonly records: number;
  readonly ledger: Ledger;
}

/** What became of a dump. Plain JSON. */
export interface ImportReport {
  /** The name of this import: the same one when it was interrupted and went on. */
  readonly run: string;
  /** Nothing was touched: `stored` is what would be handed over, duplicates are not known. */
  readonly dryRun: boolean;
  /** The signal ended it: run it again to go on. */
  readonly interrupted: boolean;
  /** What the dump was recognised as, such as `["gzip", "ndjson"]`. */
  readonly forms: readonly string[];
  /** Of the input as given, by this run. */
  readonly bytesRead: number;
  /** How many records were settled by the run that this one went on from. */
  readonly resumedAfter: number;
  readonly ledger: Ledger;
  /** How many of those stored were done before, and run again by `force`. */
  readonly forced: number;
  /** By event type. `"(none)"`: of no type; `"(other)"`: of the types beyond the first 1,000. */
  readonly types: Readonly<Record<string, Ledger>>;
  readonly span: Span | null;
  /** The rest of the dump could not be read: everything before it was imported. */
  readonly damage: { readonly code: string; readonly message: string } | null;
}
