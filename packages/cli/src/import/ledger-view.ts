import type { Ledger } from "@esim-webhooks/import";
import type { Layout } from "../terminal/layout.ts";
import type { Tone } from "../terminal/paint.ts";
import { count, span } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";

export interface LedgerView extends Layout {
  readonly dryRun: boolean;
  /** Where invalid and rejected records are written to. */
  readonly rejectsFile: string | undefined;
  readonly forced: number;
  /** How long it took, and how many of the records were read in that time. */
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

/** What became of the records, a line each, and their sum. */
export function ledgerView(ledger: Ledger, view: LedgerView): string[] {
  const rows = Object.entries(entries).map(([name, tone]) => {
    const value = ledger[name as Entry];
    const painted: Tone = value === 0 ? "faint" : tone;
    return [
      { text: name, tone: painted },
      { text: count(value), tone: painted },
      { text: value === 0 ? "" : meaning(name as Entry, view), tone: "faint" as const },
    ];
  });
  const sum = [
    { text: "read", tone: "strong" as const },
    { text: count(ledger.read), tone: "strong" as const },
    { text: paceOf(view), tone: "faint" as const },
  ];
  const columns = [
    { title: "LEDGER" },
    { title: "RECORDS", align: "right" as const },
    { title: "", cuts: true as const },
  ];
  return table(columns, [...rows, sum], view);
}

function paceOf({ pace }: LedgerView): string {
  if (pace === undefined) return "";
  return `in ${span(pace.ms)}, ${count(pace.records / Math.max(0.001, pace.ms / 1000))} records a second`;
}

function meaning(entry: Entry, { dryRun, rejectsFile, forced }: LedgerView): string {
  const where = rejectsFile === undefined ? "; --rejects <file> writes them down" : `: see ${rejectsFile}`;
  switch (entry) {
    case "stored":
      if (dryRun) return "events that would be handed in: this was a dry run";
      return forced > 0 ? `${count(forced)} run again by --force, the others new` : "new";
    case "duplicate":
      return "here before; nothing ran again";
    case "conflict":
      return "the id of another event: the stored one stands";
    case "invalid":
      return `no event${where}`;
    case "filtered":
      return "left out by filters, or of no handler";
    case "rejected":
      return `not verified, or not worked${where}`;
  }
}
