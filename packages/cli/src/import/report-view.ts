import type { ImportReport, Ledger } from "@esim-webhooks/import";
import { printable } from "../program/printable.ts";
import { type Bar, barChart } from "../terminal/bar-chart.ts";
import type { Layout } from "../terminal/layout.ts";
import { type Paint, type Tone, unpainted } from "../terminal/paint.ts";
import { instant, span } from "../terminal/quantities.ts";
import { ledgerView } from "./ledger-view.ts";

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
