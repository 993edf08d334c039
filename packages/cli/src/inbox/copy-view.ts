import { printable } from "../program/printable.ts";
import type { Layout } from "../terminal/layout.ts";
import { count } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import type { CopyLedger } from "./copy-records.ts";

const mostNamed = 50;

/** The ledger of a copy as a table: what became of the events, then the sum. Then the events and small states that differ. */
export function copyView(ledger: CopyLedger, layout: Layout): string[] {
  const { read, copied, updated, alreadyThere, different } = ledger;
  const columns = [{ title: "LEDGER" }, { title: "EVENTS", align: "right" as const }, { title: "" }];
  const row = (name: string, events: number, meaning: string) => [
    name,
    count(events),
    { text: events > 0 ? meaning : "", tone: "faint" as const },
  ];
  const rows = [
    row("copied", copied, ""),
    row("updated", updated, "to what the embedded inbox says now"),
    row("already there", alreadyThere, "left as they are"),
    row("different", different.length, "left as they are"),
    row("read", read, ""),
  ];
  return [...table(columns, rows, layout), ...differences(ledger, layout)];
}

function differences({ different, differentStates }: CopyLedger, layout: Layout): string[] {
  const rows = [
    ...different.map(({ source, id, state, targetState }) => [id, source, state, targetState]),
    ...differentStates.map((name) => [name, "(small state)", "another value", "another value"]),
  ];
  if (rows.length === 0) return [];
  const columns = ["DIFFERENT", "SOURCE", "EMBEDDED", "POSTGRES"].map((title) => ({ title }));
  const named = rows.slice(0, mostNamed).map((cells) => cells.map(printable));
  const more = rows.length - named.length;
  return [
    "",
    ...table(columns, named, layout),
    ...(more > 0 ? [`… and ${count(more)} more: --json names all`] : []),
  ];
}
