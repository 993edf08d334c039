import { mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteInbox, sqliteStore } from "@esim-webhooks/store-sqlite";
import { connect } from "../../packages/store-sqlite/src/database/connection.ts";
import { type Migration, migrate, migrations } from "../../packages/store-sqlite/src/database/migrations.ts";
import { type Copies, copiesOf, type Dialect, mix } from "./copies.ts";
import { makeRows } from "./kinds.ts";
import { type Engine, lanes, patient, type Table } from "./table.ts";

const dialect: Dialect = {
  id: "'msg_' || printf('%08x', n * 2654435761 % 4294967296) || '_' || n",
  moved: (column, ms) => `${column} + cast(${ms} as integer)`,
};

/** SQLite, with its files in a folder of their own. */
export function sqliteEngine(parent: string): Engine {
  const folder = mkdtempSync(join(parent, "esim-webhooks-scale-"));
  return {
    name: "sqlite",
    async open(name, copies) {
      const path = join(folder, `${name}.db`);
      const inbox = sqliteInbox({ path, ...patient, ...lanes });
      const store = sqliteStore({ path, ...patient });
      await makeRows({ inbox, store });
      await inbox.close();
      await store.close();
      copyRows(path, copies);
      return openTable(path);
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Copies the rows while no process uses the file: without a log on the disk and syncs, and with indexes that are built at the end. */
function copyRows(path: string, copies: Copies): void {
  const database = new DatabaseSync(path);
  const listed = (sql: string) => database.prepare(sql).all() as { name: string; sql: string }[];
  database.exec("pragma journal_mode = memory; pragma synchronous = off; pragma cache_size = -4000000");
  const columns = listed("pragma table_info(esim_webhooks_event)").map(({ name }) => name);
  const indexes = listed(
    "select name, sql from sqlite_schema where type = 'index' and tbl_name = 'esim_webhooks_event' and sql is not null",
  );
  for (const { name } of indexes) database.exec(`drop index ${name}`);
  const numbers = (name: string, count: number) =>
    `(with recursive number (${name}) as (select 0 union all select ${name} + 1 from number where ${name} < ${count - 1}) select * from number)`;
  const all = numbers("n", copies.rows + copies.expired);
  database.exec(
    `create temp table mix as ${mix("esim_webhooks_event", numbers("slot", 1000))};
    create unique index temp.mix_slot on mix (slot);
    insert into esim_webhooks_event (${columns.join()}) ${copiesOf(columns, all, copies, dialect)}`,
  );
  for (const { sql } of indexes) database.exec(sql);
  database.close();
}

async function openTable(path: string): Promise<Table> {
  const inbox = sqliteInbox({ path, ...patient, ...lanes });
  await inbox.ready();
  const known: Migration[] = [...migrations];
  return {
    inbox,
    async addColumn() {
      const column = `scale_${known.length}`;
      known.push({ oldest: 1, statements: [`alter table esim_webhooks_event add column ${column} text`] });
      const connection = connect(path, { busyMs: patient.timeoutMs });
      try {
        migrate(connection, path, known);
      } finally {
        connection.close();
      }
    },
    bytes: async () => statSync(path).size,
    close: inbox.close,
  };
}
