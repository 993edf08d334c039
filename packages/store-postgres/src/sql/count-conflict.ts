import type { EventKey } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";

/** Counts a delivery that had the id of an event, but another body. */
export async function countConflict(
  db: Kysely<unknown>,
  tables: Tables,
  { source, id }: EventKey,
): Promise<void> {
  await sql`update ${tables.event} set conflicts = conflicts + 1 where source = ${source} and id = ${id}`.execute(
    db,
  );
}
