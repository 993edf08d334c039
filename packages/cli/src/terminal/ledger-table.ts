import { count } from "./quantities.ts";
import { table } from "./table.ts";
import type { Layout, Tone } from "./text.ts";

/** A line of a ledger: how many records had an outcome, and what that means. */
export interface LedgerLine {
  readonly name: string;
  readonly value: number;
  readonly meaning: string;
}

/** A ledger as a table: a line for each outcome, faint when there are none, then the sum. */
export function ledgerTable(
  lines: readonly (LedgerLine & { readonly tone: Tone })[],
  sum: LedgerLine,
  layout: Layout,
): string[] {
  const rows = lines.map(({ name, value, meaning, tone }) => {
    const painted: Tone = value === 0 ? "faint" : tone;
    return [
      { text: name, tone: painted },
      { text: count(value), tone: painted },
      { text: value === 0 ? "" : meaning, tone: "faint" as const },
    ];
  });
  const total = [
    { text: sum.name, tone: "strong" as const },
    { text: count(sum.value), tone: "strong" as const },
    { text: sum.meaning, tone: "faint" as const },
  ];
  const columns = [
    { title: "LEDGER" },
    { title: "RECORDS", align: "right" as const },
    { title: "", cuts: true as const },
  ];
  return table(columns, [...rows, total], layout);
}
