import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { WebhookEvent } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { postgresUrl } from "../../../test/servers/shared.ts";

/** The table that the tests' handlers write to. It has no constraint, so a repeated effect shows. */
export interface Shop {
  order: { event: string; esim: string };
}

/** A new schema for one test, with an empty table of orders, on the Postgres that all tests share. */
export interface TestSchema {
  readonly schema: string;
  readonly db: Kysely<Shop>;
  /** A pool whose connections see the schema's tables. `drop` closes it. */
  pool(max: number, url?: string): pg.Pool;
  orders(): Promise<string[]>;
  drop(): Promise<void>;
}

export async function createSchema(url: string = postgresUrl): Promise<TestSchema> {
  const schema = `test_${randomUUID().replaceAll("-", "")}`;
  const pools: pg.Pool[] = [];
  const pool = (max: number, at = url) => {
    const made = new pg.Pool({ connectionString: at, max, application_name: schema });
    pools.push(made);
    return made;
  };
  const db = new Kysely<Shop>({ dialect: new PostgresDialect({ pool: pool(2) }) }).withSchema(schema);
  await sql`create schema ${sql.id(schema)}`.execute(db);
  await db.schema
    .createTable("order")
    .addColumn("event", "text", (column) => column.notNull())
    .addColumn("esim", "text", (column) => column.notNull())
    .execute();
  return {
    schema,
    db,
    pool,
    async orders() {
      const rows = await db.selectFrom("order").select("event").orderBy("event").execute();
      return rows.map(({ event }) => event);
    },
    async drop() {
      const [own, ...others] = pools;
      // a query that still ran could deadlock with the drop
      const closed = Promise.all(others.map((made) => made.ended || made.end())).then(() => true);
      if (!(await Promise.race([closed, pause(30_000, false, { ref: false })])))
        await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where application_name = ${schema} and xact_start is not null and pid <> pg_backend_pid()`.execute(
          db,
        ); // left by a test that failed
      await sql`drop schema ${sql.id(schema)} cascade`.execute(db);
      await own?.end();
    },
  };
}

export function faulted(id: string): WebhookEvent {
  return {
    id,
    type: "esim.faulted",
    timestamp: new Date().toISOString(),
    data: { ...sampleData("esim.faulted") },
  };
}
