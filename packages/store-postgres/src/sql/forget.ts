import { type Kysely, sql } from "kysely";
import { serverTime, type Tables } from "../database/tables.ts";

/** Deletes at most `limit` rows whose retention is over, but none that another process has locked. Resolves to how many. */
export async function forget(db: Kysely<unknown>, tables: Tables, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${tables.event} as old
    using (
      select source, id from ${tables.event}
      where state in ('done', 'unhandled') and ends_at <= ${serverTime}
      order by ends_at limit ${limit}
      for update skip locked
    ) as over
    where old.source = over.source and old.id = over.id`.execute(db);
  return Number(numAffectedRows);
}
