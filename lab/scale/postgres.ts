import { silentLogger } from "@esim-webhooks/core/internal";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { migrate } from "../../packages/store-postgres/src/database/migrate.ts";
import { type Migration, migrations } from "../../packages/store-postgres/src/database/migrations.ts";
import { tablesIn } from "../../packages/store-postgres/src/database/tables.ts";
import { privatePostgres } from "../../test/servers/index.ts";
import { type Copies, copiesOf, type Dialect, mix } from "./copies.ts";
import { makeRows } from "./kinds.ts";
import { type Engine, lanes, patient, type Table } from "./table.ts";

const dialect: Dialect = {
  id: "'msg_' || lpad(to_hex(n::bigint * 2654435761 % 4294967296), 8, '0') || '_' || n",
  moved: (column, ms) => `${column} + (${ms})::float8 * interval '1 millisecond'`,
};

/** A Postgres of its own, with a schema for each table. Its folder is below `TMPDIR`. */
export async function postgresEngine(): Promise<Engine> {
  const server = await privatePostgres({ shared_buffers: "1GB", max_wal_size: "4GB" });
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  pool.on("error", () => {});
  return {
    name: "postgres",
    async open(schema, copies) {
      const inbox = postgresInbox({ pool, schema, ...patient, ...lanes });
      await inbox.migrate();
      await makeRows({ inbox, store: postgresStore({ pool, schema, ...patient }) });
      await copyRows(pool, schema, copies);
      return openTable(pool, schema, inbox);
    },
    async close() {
      await pool.end();
      await server.close();
    },
  };
}

/** Copies the rows into a table without indexes, which are built at the end. */
async function copyRows(pool: pg.Pool, schema: string, copies: Copies): Promise<void> {
  const client = await pool.connect();
  const listed = async (sql: string) => (await client.query<{ name: string; sql: string }>(sql)).rows;
  const columns = await listed(
    `select column_name as name from information_schema.columns where table_schema = '${schema}' and table_name = 'event' order by ordinal_position`,
  );
  const indexes = await listed(
    `select indexname as name, indexdef as sql from pg_indexes where schemaname = '${schema}' and tablename = 'event' and indexname <> 'event_pkey'`,
  );
  const names = columns.map(({ name }) => name);
  const all = `generate_series(0, ${copies.rows + copies.expired - 1}) as n`;
  const steps = [
    "set maintenance_work_mem = '1GB'",
    "set synchronous_commit = off",
    ...indexes.map(({ name }) => `drop index ${schema}.${name}`),
    `alter table ${schema}.event drop constraint event_pkey`,
    `create temp table mix as ${mix(`${schema}.event`, "generate_series(0, 999) as slot")}`,
    `insert into ${schema}.event (${names.join()}) ${copiesOf(names, all, copies, dialect)}`,
    `alter table ${schema}.event add constraint event_pkey primary key (id, source)`,
    ...indexes.map(({ sql }) => sql),
    `vacuum analyze ${schema}.event`,
    "checkpoint", // otherwise the server would write the new pages while calls are measured
  ];
  try {
    for (const step of steps) await client.query(step);
  } finally {
    client.release(true); // with its settings
  }
}

function openTable(pool: pg.Pool, schema: string, inbox: Table["inbox"]): Table {
  const known: Migration[] = [...migrations];
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  return {
    inbox,
    async addColumn() {
      const column = `scale_${known.length}`;
      known.push({ oldest: 1, statements: [`alter table esim_webhooks.event add column ${column} text`] });
      await migrate(db, tablesIn(schema), silentLogger, { known });
    },
    async bytes() {
      const sql = `select pg_total_relation_size('${schema}.event')::float8 as bytes`;
      return (await pool.query<{ bytes: number }>(sql)).rows[0]?.bytes ?? Number.NaN;
    },
    close: inbox.close,
  };
}
