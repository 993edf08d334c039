import type { InboxRow } from "@esim-webhooks/core";
import { maskText } from "../masking/mask-text.ts";
import { shortened } from "../masking/shortened.ts";
import { printable } from "../program/printable.ts";
import type { Layout } from "../terminal/layout.ts";
import { unpainted } from "../terminal/paint.ts";
import { ago, count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { columnsOf, cut } from "../terminal/text.ts";
import { stateTones } from "./stats-view.ts";

export interface ListView extends Layout {
  readonly now: number;
  readonly reveal: boolean;
}

/** The room that the columns beside the ids need to be of use. */
const columnsBesideIds = 56;

/**
 * One line per event, with its id whole: ids are copied. Where the line is too narrow for everything, the error has a line of
 * its own. There is a column of sources when an event has another source than the default.
 */
export function listView(rows: readonly InboxRow[], { now, reveal, ...layout }: ListView): string[] {
  const withSource = rows.some(({ source }) => source !== "default");
  const { width = Number.POSITIVE_INFINITY, paint = unpainted } = layout;
  const longestId = Math.max(...rows.map(({ id }) => columnsOf(printable(id))));
  const isNarrow = longestId + columnsBesideIds > width;
  const errors = rows.map(({ error }) =>
    printable(error === null || reveal ? (error ?? "") : maskText(error)),
  );
  const columns: Column[] = [
    ...(withSource ? [{ title: "SOURCE", cuts: true as const }] : []),
    { title: "ID" },
    { title: "TYPE", cuts: true },
    { title: "STATE" },
    { title: "RECEIVED", align: "right" },
    ...(isNarrow
      ? []
      : [
          { title: "TRIES", align: "right" as const },
          { title: "ERROR", cuts: true as const },
        ]),
  ];
  const cells = rows.map(({ source, id, type, state, receivedAt, attempts }, index) => [
    ...(withSource ? [printable(source)] : []),
    printable(id),
    type === null ? { text: withoutType(receivedAt), tone: "faint" as const } : printable(shortened(type)),
    { text: state, tone: stateTones[state] },
    receivedAt === null ? "" : ago(receivedAt, now),
    ...(isNarrow ? [] : [count(attempts), errors[index] ?? ""]),
  ]);
  const [head = "", ...lines] = table(columns, cells, layout);
  const below = (error = "") => (isNarrow && error !== "" ? [paint("faint", cut(`  ${error}`, width))] : []);
  return [head, ...lines.flatMap((line, index) => [line, ...below(errors[index])])];
}

/** Why the type of an event is unknown: the store of inline handlers keeps ids alone, and a body may be no event. */
function withoutType(receivedAt: Date | null): string {
  return receivedAt === null ? "(handled inline)" : "(invalid)";
}
