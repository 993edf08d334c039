import { randomUUID } from "node:crypto";
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
      await Promise.all(others.map((made) => made.ended || made.end())); // a query that still ran could deadlock with the drop
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
