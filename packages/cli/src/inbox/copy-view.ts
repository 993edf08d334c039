import type { Layout } from "../terminal/layout.ts";
import { count } from "../terminal/quantities.ts";
import { table } from "../terminal/table.ts";
import type { CopyLedger } from "./copy-records.ts";

/** The ledger of a copy as a table: what became of the events, then the sum. */
export function copyView({ read, copied, alreadyThere }: CopyLedger, layout: Layout): string[] {
  const columns = [{ title: "LEDGER" }, { title: "EVENTS", align: "right" as const }, { title: "" }];
  const faint = (text: string) => ({ text, tone: "faint" as const });
  const rows = [
    ["copied", count(copied), ""],
    ["already there", count(alreadyThere), faint(alreadyThere > 0 ? "left as they are" : "")],
    ["read", count(read), ""],
  ];
  return table(columns, rows, layout);
}
