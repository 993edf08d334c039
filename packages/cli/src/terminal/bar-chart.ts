import type { Layout } from "./layout.ts";
import { type Tone, unpainted } from "./paint.ts";
import { count } from "./quantities.ts";
import { columnsOf, cut } from "./text.ts";

export interface Bar {
  readonly label: string;
  /** The parts of the bar, from the left. */
  readonly parts: readonly { readonly value: number; readonly tone: Tone; readonly mark?: string }[];
}

const longestLabel = 30;
const longestBar = 40;

/** One line per bar; the longest fills the width. A part that is not zero is visible, however small. */
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

/** Divides the cells of a bar among its parts. A part that is not zero gets at least one, if there are enough. */
function segments(parts: Bar["parts"], total: number, cells: number) {
  const present = parts.filter(({ value }) => value > 0);
  const shares = present.map(({ value }) => Math.max(1, Math.round((value / total) * cells)));
  for (let excess = shares.reduce((sum, share) => sum + share, 0) - cells; excess > 0; excess -= 1) {
    const largest = shares.indexOf(Math.max(...shares));
    shares[largest] = (shares[largest] ?? 0) - 1;
  }
  return present.map((part, index) => ({ ...part, cells: Math.max(0, shares[index] ?? 0) }));
}
