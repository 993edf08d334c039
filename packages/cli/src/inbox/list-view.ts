import type { InboxRow } from "@esim-webhooks/core";
import { maskText } from "../masking/mask-text.ts";
import { printable } from "../program/printable.ts";
import type { Layout } from "../terminal/layout.ts";
import { ago, count } from "../terminal/quantities.ts";
import { type Column, table } from "../terminal/table.ts";
import { stateTones } from "./stats-view.ts";

export interface ListView extends Layout {
  readonly now: number;
  readonly reveal: boolean;
}

/** One line per event. There is a column of sources when an event has another source than the default. */
export function listView(rows: readonly InboxRow[], { now, reveal, ...layout }: ListView): string[] {
  const withSource = rows.some(({ source }) => source !== "default");
  const columns: Column[] = [
    ...(withSource ? [{ title: "SOURCE", cuts: true as const }] : []),
    { title: "ID", cuts: true },
    { title: "TYPE", cuts: true },
    { title: "STATE" },
    { title: "RECEIVED", align: "right" },
    { title: "TRIES", align: "right" },
    { title: "ERROR", cuts: true },
  ];
  const cells = rows.map(({ source, id, type, state, receivedAt, attempts, error }) => [
    ...(withSource ? [printable(source)] : []),
    printable(id),
    type === null ? { text: "(no type)", tone: "faint" as const } : printable(type),
    { text: state, tone: stateTones[state] },
    receivedAt === null ? "" : ago(receivedAt, now),
    count(attempts),
    printable(error === null || reveal ? (error ?? "") : maskText(error)),
  ]);
  return table(columns, cells, layout);
}
