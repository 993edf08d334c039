import { randomBytes } from "node:crypto";
import { parseOptions } from "@esim-webhooks/core/engine";
import { sql } from "kysely";
import { openPostgres, type PostgresOptions, postgresShape } from "./database/postgres-database.ts";
import { type PostgresInbox, postgresInbox } from "./postgres-inbox.ts";
import { tryEvents } from "./sql/try-out.ts";

/** An empty inbox in a schema of its own, to measure a database with. */
export interface PostgresBenchInbox {
  /** The inbox in that schema, migrated and empty. */
  readonly inbox: PostgresInbox;
  /** The new schema: `esim_webhooks_bench_` and twelve random characters. */
  readonly schema: string;
  /** The server's version, such as `17.2`. */
  readonly serverVersion: string;
  /** Closes the inbox, and drops its schema with all that it contains. Rejects if the schema may be left. */
  remove(): Promise<void>;
}

const name = "postgresBenchInbox";

/**
 * Makes an inbox in a new schema, next to the real one, for `esim-webhooks bench`. Always call `remove()` in the end. Rejects as `migrate()`
 * of `postgresInbox` does; then the schema is dropped, if the server still answers.
 */
export async function postgresBenchInbox({
  url,
  logger,
}: Pick<PostgresOptions, "url" | "logger">): Promise<PostgresBenchInbox> {
  const schema = `esim_webhooks_bench_${randomBytes(6).toString("hex")}`;
  const options = { url, schema, ...(logger && { logger }) };
  const inbox = postgresInbox(options);
  const { db, guard, close } = openPostgres(
    name,
    { url },
    parseOptions(name, postgresShape, options),
    tryEvents,
  );
  const remove = async () => {
    await Promise.allSettled([inbox.close()]); // the schema is dropped in any case
    const drop = sql`drop schema if exists ${sql.id(schema)} cascade`;
    await guard.runUnchecked(() => drop.execute(db)).finally(close);
  };
  try {
    const query = sql<{ server_version: string }>`show server_version`;
    const { rows } = await guard.runUnchecked(() => query.execute(db));
    await inbox.migrate();
    return { inbox, schema, serverVersion: rows[0]?.server_version.split(" ")[0] ?? "", remove };
  } catch (error) {
    await remove().catch(() => {}); // report the first error
    throw error;
  }
}
