import { columnsOf, cut, type Layout, type Tone, unpainted } from "./text.ts";

export interface Column {
  readonly title: string;
  /** For numbers. */
  readonly align?: "right";
  /** May be cut on a narrow terminal; the widest column is cut first. */
  readonly cuts?: true;
}

export interface Cell {
  readonly text: string;
  readonly tone?: Tone;
}

const gap = "  ";
const narrowest = 6;

/** Rows under their titles, cut to `width` as far as columns may be cut. Texts must be printable. */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly (Cell | string)[])[],
  { width = Number.POSITIVE_INFINITY, paint = unpainted }: Layout = {},
): string[] {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === "string" ? { text: cell } : cell)));
  const widths = fitted(
    columns,
    columns.map(({ title }, index) =>
      cells.reduce((most, row) => Math.max(most, columnsOf(row[index]?.text ?? "")), columnsOf(title)),
    ),
    width,
  );
  const line = (row: readonly Cell[]) =>
    row
      .map(({ text, tone }, index) => {
        const shown = cut(text, widths[index] ?? 0);
        const padding = " ".repeat(Math.max(0, (widths[index] ?? 0) - columnsOf(shown)));
        const painted = tone === undefined || shown === "" ? shown : paint(tone, shown);
        if (columns[index]?.align === "right") return padding + painted;
        return index === row.length - 1 ? painted : painted + padding;
      })
      .join(gap)
      .trimEnd();
  return [columns.map(({ title }): Cell => ({ text: title, tone: "faint" })), ...cells].map(line);
}

function fitted(columns: readonly Column[], widths: readonly number[], width: number): readonly number[] {
  const fit = [...widths];
  const total = () => fit.reduce((sum, each) => sum + each, 0) + gap.length * (fit.length - 1);
  while (total() > width) {
    const widest = columns.reduce(
      (most, { cuts }, index) =>
        cuts && (fit[index] ?? 0) > narrowest && (fit[index] ?? 0) > (fit[most] ?? 0) ? index : most,
      -1,
    );
    if (widest === -1) break;
    fit[widest] = (fit[widest] ?? 0) - 1;
  }
  return fit;
}
