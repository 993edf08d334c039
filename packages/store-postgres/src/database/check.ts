import { type Logger, WebhookError } from "@esim-webhooks/core";
import { warnOfSetup } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { PostgresErrorCode } from "./errors.ts";
import { checkMigrations } from "./migrations.ts";
import type { Tables } from "./tables.ts";

/** What the check of a server looks at. */
export interface Checked {
  readonly tables: Tables;
  readonly logger: Logger;
  /** Writes what the store will write. It is rolled back. */
  tryOut(transaction: Kysely<unknown>, tables: Tables): Promise<void>;
}

/**
 * Resolves to whether a crash of the server's machine loses nothing. Warns if not. Rejects for a schema of another version, and for a
 * server or a role that does not write.
 */
export async function checkServer(
  transaction: Kysely<unknown>,
  { tables, logger, tryOut }: Checked,
): Promise<boolean> {
  try {
    await checkMigrations(transaction, tables);
    await tryOut(transaction, tables);
    const problem = await whyNotDurable(transaction, tables);
    if (problem !== undefined) warnOfSetup(logger, "not_durable", problem);
    return problem === undefined;
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

/** What the server's refusal means, by its SQLSTATE. */
function refusalOf(error: unknown, { schema }: Tables): WebhookError<PostgresErrorCode> | undefined {
  switch ((error as { code?: unknown }).code) {
    case "25006":
      return new WebhookError<PostgresErrorCode>(
        "read_only_store",
        "The Postgres server, or this role on it, only reads: it is a standby, or default_transaction_read_only is on.",
        "Connect to the primary, or turn the setting off.",
        { cause: error },
      );
    case "42501":
      return new WebhookError<PostgresErrorCode>(
        "missing_rights",
        `The role may not do what the store does in the schema "${schema}": ${(error as Error).message}.`,
        "Grant it USAGE on the schema and on its sequence, and SELECT, INSERT, UPDATE and DELETE on its tables.",
        { cause: error },
      );
    default:
      return undefined;
  }
}
