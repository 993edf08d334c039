import { type Kysely, sql } from "kysely";
import type { Tables } from "./tables.ts";

/** For a database of one process, when it opens it: whoever had a lease is gone, so nobody need wait for it to end. */
export async function recover(db: Kysely<unknown>, tables: Tables): Promise<void> {
  await sql`delete from ${tables.event} where state = 'leased' and body is null`.execute(db);
  await sql`update ${tables.event} set state = 'ready', ends_at = ${tables.now()} where state = 'leased'`.execute(
    db,
  );
}
