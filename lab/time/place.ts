import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Inbox, InboxOptions, Logger, StateStore } from "@esim-webhooks/core";
import { postgresInbox, postgresState } from "@esim-webhooks/store-postgres";
import { sqliteInbox, sqliteState } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { privatePostgres } from "../../test/servers/index.ts";
import { loggerWith } from "../../test/support/loggers.ts";

/** Where the inbox is: a file, or a Postgres. Plain JSON, so that each process gets it as an argument. */
export type Place = { readonly path: string } | { readonly url: string };

/** Figures of a sample, by name. A name can end with a comma and the unit. */
export type Figures = Readonly<Record<string, number>>;

/** The database of a run. */
export interface Database {
  readonly place: Place;
  /** Its sizes and rows. */
  figures(): Promise<Figures>;
  close(): Promise<void>;
}

type Retention = { readonly retentionMs?: number };

/** Other than without a logger, set-up that is wrong on purpose, such as a short retention, is no warning of the process. */
export const quiet: Logger = loggerWith();

export function openInbox(place: Place, given: InboxOptions & Retention = {}): Inbox {
  const options = { ...given, logger: quiet };
  return "path" in place ? sqliteInbox({ ...place, ...options }) : postgresInbox({ ...place, ...options });
}

export function openState(place: Place): StateStore {
  return "path" in place ? sqliteState(place) : postgresState(place);
}

export const databases: Readonly<Record<string, (folder: string) => Promise<Database>>> = {
  sqlite: async (folder) => sqliteDatabase(join(folder, "events.db")),
  postgres: postgresDatabase,
};

async function sqliteDatabase(path: string): Promise<Database> {
  const inbox = sqliteInbox({ path });
  await inbox.ready();
  const database = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  const numberOf = (sql: string) => Number(Object.values(database.prepare(sql).get() ?? {})[0]);
  return {
    place: { path },
    async figures() {
      return {
        "file, kB": statSync(path).size / 1000,
        "log, kB": statSync(`${path}-wal`).size / 1000,
        "free pages": numberOf("pragma freelist_count"),
        rows: numberOf("select count(*) from esim_webhooks_event"),
      };
    },
    async close() {
      database.close();
      await inbox.close();
    },
  };
}

async function postgresDatabase(): Promise<Database> {
  const server = await privatePostgres();
  const inbox = postgresInbox({ url: server.url });
  await inbox.migrate();
  const pool = new pg.Pool({ connectionString: server.url, max: 1 });
  pool.on("error", () => {});
  return {
    place: { url: server.url },
    async figures() {
      const { rows } = await pool.query<Record<string, string>>(
        `select pg_table_size('esim_webhooks.event') / 1000 as "table, kB", pg_indexes_size('esim_webhooks.event') / 1000 as "indexes, kB",
          (select n_dead_tup from pg_stat_user_tables where relid = 'esim_webhooks.event'::regclass) as "dead rows",
          (select count(*) from esim_webhooks.event) as rows`,
      );
      return Object.fromEntries(Object.entries(rows[0] ?? {}).map(([name, value]) => [name, Number(value)]));
    },
    async close() {
      await pool.end();
      await inbox.close();
      await server.close();
    },
  };
}
