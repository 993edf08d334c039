import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";

/** Deletes some ids whose retention is over, and says how many. Small batches, and none that another process is just deleting. */
export async function forget(db: Kysely<unknown>, tables: Tables, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${tables.event} as old
    using (
      select source, id from ${tables.event}
      where state in ('done', 'unhandled') and ends_at <= ${tables.now()}
      order by ends_at limit ${limit}
      for update skip locked
    ) as over
    where old.source = over.source and old.id = over.id`.execute(db);
  return Number(numAffectedRows);
}
