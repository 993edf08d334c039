import type { Listing } from "@esim-webhooks/client";
import type { CliContext } from "../program/context.ts";
import { layoutFor } from "../terminal/layout.ts";
import { type Cell, type Column, table } from "../terminal/table.ts";
import type { ListFlags } from "./flags.ts";

/** How the items of a list are printed. */
export interface ListView<Item> {
  /** In the plural, as in `There may be more endpoints`. */
  readonly nouns: string;
  /** What to say when the list is empty. */
  readonly none: string;
  readonly columns: readonly Column[];
  row(item: Item, reveal: boolean): readonly (Cell | string)[];
  json(item: Item, reveal: boolean): unknown;
}

/** A table of more rows begins again, with its titles. */
const tableRows = 1000;

/** Prints the items that `matches` picks, at most `--limit`. Asks for no page that it does not need. */
export async function printList<Item>(
  { output, process }: CliContext,
  { all = false, json = false, limit, reveal = false }: ListFlags,
  listing: Listing<Item>,
  { nouns, none, columns, row, json: shown }: ListView<Item>,
  matches: (item: Item) => boolean = () => true,
): Promise<void> {
  const most = all ? Number.POSITIVE_INFINITY : limit;
  const rows: (readonly (Cell | string)[])[] = [];
  const printRows = () => {
    if (rows.length === 0) return;
    for (const line of table(columns, rows.splice(0), layoutFor(process.stdout))) output.data(line);
  };
  let found = 0;
  let isMore = false;
  pages: for await (const { data, pagination } of listing.pages()) {
    for (const [index, item] of data.entries()) {
      if (!matches(item)) continue;
      if (json) output.json(shown(item, reveal));
      else if (rows.push(row(item, reveal)) === tableRows) printRows();
      found += 1;
      if (found < most) continue;
      isMore = pagination.hasMore || index < data.length - 1;
      break pages;
    }
  }
  printRows();
  if (found === 0) output.note(none);
  if (isMore) output.note(`There may be more ${nouns}: --limit or --all shows them.`);
}
