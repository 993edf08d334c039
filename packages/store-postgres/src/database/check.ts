import { type Kysely, sql } from "kysely";
import { refusalOf } from "./errors.ts";
import { checkMigrations } from "./migrations.ts";
import type { Tables } from "./tables.ts";

/** The tables to check, and what to write in them. */
export interface Checked {
  readonly tables: Tables;
  /** Writes what the store will write. It is rolled back. */
  tryOut(transaction: Kysely<unknown>, tables: Tables): Promise<void>;
}

/**
 * Resolves to why a crash of the server's machine could lose what it has acknowledged; undefined if it loses nothing. Rejects for a schema
 * of another version, and for a server or a role that cannot write.
 */
export async function checkServer(
  transaction: Kysely<unknown>,
  { tables, tryOut }: Checked,
): Promise<string | undefined> {
  try {
    await checkMigrations(transaction, tables);
    await tryOut(transaction, tables);
    return await whyNotDurable(transaction, tables);
  } catch (error) {
    throw refusalOf(error, tables) ?? error;
  }
}

async function whyNotDurable(db: Kysely<unknown>, { schema }: Tables): Promise<string | undefined> {
  const { rows } = await sql<{ fsync: boolean; unlogged: string | null }>`
    select current_setting('fsync') = 'on' as fsync, (
      select string_agg(relname, ', ' order by relname) from pg_class
      where relnamespace = to_regnamespace(${`"${schema}"`}) and relpersistence = 'u'
        and relname in ('event', 'state', 'latest')
    ) as unlogged`.execute(db);
  const { fsync = true, unlogged = null } = rows[0] ?? {};
  if (!fsync) {
    return "The Postgres server runs with fsync = off, so a crash of its machine can lose or corrupt what it has acknowledged. Set fsync = on.";
  }
  if (unlogged === null) return undefined;
  return `Tables of the schema "${schema}" are unlogged, so a crash of the server empties them: ${unlogged}. Run ALTER TABLE … SET LOGGED.`;
}
