// The columns of an event, as the calls pass them to the threads, which load nothing of core.
import { type EventColumn, eventColumns, listedColumns, shownColumns } from "@esim-webhooks/core/engine";
import type { EntryColumn } from "./sql/put.ts";

/** The columns that `put` and `rerun` fill from an entry. */
export const entryColumns: readonly EntryColumn[] = eventColumns
  .filter(({ by }) => by === "entry")
  .map(({ name, field }) => ({ name, field }));

/** The columns of a row of a list: SQL. */
export const listed: string = namesOf(listedColumns);

/** The columns that `get` reads: SQL. */
export const shown: string = namesOf(shownColumns);

/** The columns that a copy into another inbox reads. It copies no lease. */
export const copied: readonly EventColumn[] = eventColumns.filter(({ name }) => name !== "leased_until");

function namesOf(columns: readonly EventColumn[]): string {
  return columns.map(({ name }) => name).join();
}
