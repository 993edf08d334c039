import { shortened } from "../masking/shortened.ts";
import { printable } from "../program/printable.ts";
import type { Layout } from "../terminal/layout.ts";
import { unpainted } from "../terminal/paint.ts";
import { ago, count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { cut } from "../terminal/text.ts";
import type { ErrorGroup } from "./error-groups.ts";

const columns: readonly Column[] = [
  { title: "EVENTS", align: "right" },
  { title: "OLDEST", align: "right" },
  { title: "NEWEST", align: "right" },
  { title: "EXAMPLE" },
  { title: "TYPES", cuts: true },
];

/** Two lines per group: what its events are, with one id whole, and below it their error. */
export function errorsView(
  groups: readonly ErrorGroup[],
  { now, ...layout }: Layout & { readonly now: number },
): string[] {
  const { width = Number.POSITIVE_INFINITY, paint = unpainted } = layout;
  const when = (date: Date | null) => (date === null ? "" : ago(date, now));
  const cells = groups.map((group) => [
    count(group.count),
    when(group.oldest),
    when(group.newest),
    printable(group.exampleId),
    group.types.map((type) => (type === null ? "(invalid)" : printable(shortened(type)))).join(", "),
  ]);
  const [head = "", ...lines] = table(columns, cells, layout);
  const below = ({ error }: ErrorGroup) => paint("bad", cut(`  ${printable(error)}`, width));
  return [head, ...groups.flatMap((group, index) => [lines[index] ?? "", below(group)])];
}
