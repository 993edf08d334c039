import { instant, span } from "@esim-webhooks/core/internal";
import { printable } from "@esim-webhooks/core/log-lines";
import type { ImportReport, Ledger } from "@esim-webhooks/import";
import { ledgerTable } from "../terminal/ledger-table.ts";
import { count } from "../terminal/quantities.ts";
import { columnsOf, cut, type Layout, type Paint, type Tone, unpainted } from "../terminal/text.ts";

const parts: readonly { tone: Tone; mark: string; name: string; of(ledger: Ledger): number }[] = [
  { tone: "good", mark: "█", name: "stored", of: ({ stored }) => stored },
  { tone: "accent", mark: "▒", name: "duplicate", of: ({ duplicate }) => duplicate },
  { tone: "faint", mark: "░", name: "filtered", of: ({ filtered }) => filtered },
  {
    tone: "bad",
    mark: "×",
    name: "conflict, invalid or rejected",
    of: ({ conflict, invalid, rejected }) => conflict + invalid + rejected,
  },
];
const maxBars = 20;

export interface ReportView extends Layout {
  readonly rejectsFile: string | undefined;
  readonly tookMs?: number;
}

/** The ledger, a bar for each event type, and the time span of the events. */
export function reportView(report: ImportReport, { tookMs, ...view }: ReportView): string[] {
  const { paint = unpainted } = view;
  const { ledger, types, dryRun, forced, resumedAfter } = report;
  if (ledger.read === 0) return ["The dump contains no records."];
  const pace = tookMs === undefined ? undefined : { ms: tookMs, records: ledger.read - resumedAfter };
  const lines = ledgerView(ledger, { ...view, dryRun, forced, pace });
  return [
    ...lines,
    "",
    ...barChart(barsOf(types), view),
    "",
    legend(ledger, paint),
    ...spanLine(report, paint),
  ];
}

/** The most frequent types first; beyond `maxBars`, one bar sums up the rest. */
function barsOf(types: Readonly<Record<string, Ledger>>): Bar[] {
  const sorted = Object.entries(types).sort(([, a], [, b]) => b.read - a.read);
  const shown = sorted.length > maxBars ? sorted.slice(0, maxBars - 1) : sorted;
  const rest = sorted.slice(shown.length).map(([, ledger]) => ledger);
  return [
    ...shown.map(([type, ledger]) => barOf(type === "(none)" ? "(no type)" : printable(type), [ledger])),
    ...(rest.length > 0 ? [barOf(`${rest.length} more types`, rest)] : []),
  ];
}

function barOf(label: string, ledgers: readonly Ledger[]): Bar {
  const value = (of: (ledger: Ledger) => number) => ledgers.reduce((sum, ledger) => sum + of(ledger), 0);
  return { label, parts: parts.map(({ of, tone, mark }) => ({ value: value(of), tone, mark })) };
}

function legend(ledger: Ledger, paint: Paint): string {
  return parts
    .filter(({ of }) => of(ledger) > 0)
    .map(({ mark, name, tone }) => `${paint(tone, mark)} ${name}`)
    .join("   ");
}

function spanLine({ span: covered }: ImportReport, paint: Paint): string[] {
  if (covered === null) return [];
  const [from, to] = [new Date(covered.from), new Date(covered.to)];
  const length = paint("faint", `(${span(to.getTime() - from.getTime())})`);
  return [`events from ${instant(from)} to ${instant(to)} ${length}`];
}

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
function ledgerView(ledger: Ledger, view: LedgerView): string[] {
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

export interface Bar {
  readonly label: string;
  /** The parts of the bar, from the left. */
  readonly parts: readonly { readonly value: number; readonly tone: Tone; readonly mark?: string }[];
}

const longestLabel = 30;
const longestBar = 40;

/** One line per bar; the longest fills the room. A part that is not zero is visible if the bar has enough cells. */
export function barChart(bars: readonly Bar[], { width = 80, paint = unpainted }: Layout = {}): string[] {
  const totals = bars.map(({ parts }) => parts.reduce((sum, { value }) => sum + value, 0));
  const most = Math.max(1, ...totals);
  const labelWidth = Math.min(longestLabel, Math.max(0, ...bars.map(({ label }) => columnsOf(label))));
  const countWidth = Math.max(0, ...totals.map((total) => columnsOf(count(total))));
  const room = Math.max(4, Math.min(longestBar, width - labelWidth - countWidth - 4));
  return bars.map(({ label, parts }, index) => {
    const shown = cut(label, labelWidth);
    const total = totals[index] ?? 0;
    const drawn = segments(parts, total, Math.max(total > 0 ? 1 : 0, Math.round((total / most) * room)));
    const bar = drawn.map(({ cells, tone, mark = "█" }) => paint(tone, mark.repeat(cells))).join("");
    const pad = " ".repeat(labelWidth - columnsOf(shown));
    return `${shown}${pad}  ${count(total).padStart(countWidth)}  ${bar}`.trimEnd();
  });
}

/** Divides the cells of a bar among its parts. A part that is not zero gets at least one cell, if there are enough. */
function segments(parts: Bar["parts"], total: number, cells: number) {
  const present = parts.filter(({ value }) => value > 0);
  const shares = present.map(({ value }) => Math.max(1, Math.round((value / total) * cells)));
  for (let excess = shares.reduce((sum, share) => sum + share, 0) - cells; excess > 0; excess -= 1) {
    const largest = shares.indexOf(Math.max(...shares));
    shares[largest] = (shares[largest] ?? 0) - 1;
  }
  return present.map((part, index) => ({ ...part, cells: Math.max(0, shares[index] ?? 0) }));
}
