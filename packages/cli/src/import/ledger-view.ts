import type { Ledger } from "@esim-webhooks/import";
import type { Layout } from "../terminal/layout.ts";
import { ledgerTable } from "../terminal/ledger-table.ts";
import type { Tone } from "../terminal/paint.ts";
import { count, span } from "../terminal/quantities.ts";

export interface LedgerView extends Layout {
  readonly dryRun: boolean;
  /** The file with the conflicts, invalid and rejected records. */
  readonly rejectsFile: string | undefined;
  readonly forced: number;
  /** How long this run took in ms, and how many records it read. */
  readonly pace: { readonly ms: number; readonly records: number } | undefined;
}

type Entry = Exclude<keyof Ledger, "read">;

const entries: Readonly<Record<Entry, Tone>> = {
  stored: "good",
  duplicate: "faint",
  conflict: "bad",
  invalid: "bad",
  filtered: "faint",
  rejected: "bad",
};

/** The ledger as a table: a line for each outcome, then the sum. */
export function ledgerView(ledger: Ledger, view: LedgerView): string[] {
  const lines = Object.entries(entries).map(([name, tone]) => ({
    name,
    tone,
    value: ledger[name as Entry],
    meaning: meaning(name as Entry, view),
  }));
  return ledgerTable(lines, { name: "read", value: ledger.read, meaning: paceOf(view) }, view);
}

function paceOf({ pace }: LedgerView): string {
  if (pace === undefined) return "";
  return `in ${span(pace.ms)}, ${count(pace.records / Math.max(0.001, pace.ms / 1000))} records a second`;
}

function meaning(entry: Entry, { dryRun, rejectsFile, forced }: LedgerView): string {
  const where = rejectsFile === undefined ? "; --rejects <file> keeps them" : `: see ${rejectsFile}`;
  switch (entry) {
    case "stored":
      if (dryRun) return "would be imported: this was a dry run";
      return forced > 0 ? `${count(forced)} run again with --force, the others new` : "new";
    case "duplicate":
      return "already stored or done; not run again";
    case "conflict":
      return `another body of a known id${where}`;
    case "invalid":
      return `not a valid event${where}`;
    case "filtered":
      return "left out by a filter, or without a handler";
    case "rejected":
      return `not verified, or not processed${where}`;
  }
}
