import { randomUUID } from "node:crypto";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { Kysely, PostgresDialect, sql } from "kysely";
import pg from "pg";
import { onTestFinished } from "vitest";
import {
  type CheckedHistory,
  checkHistory,
  postgresHistory,
  postgresHistoryOf,
  type RowChange,
} from "../lab/model/trace.ts";
import type { Effects } from "./inbox-worker.ts";
import type { Run } from "./run.ts";
import { runInTest } from "./support/run-in-test.ts";

const worker = "test/inbox-worker.ts";

export interface Data {
  readonly schema: string;
  readonly db: Kysely<Effects>;
  /** How many effects there are, and of how many events. */
  effects(): Promise<{ effects: number; events: number }>;
  states(): Promise<Record<string, number>>;
  /** Logs every change of an event from now on. Call it once the tables are there. */
  watch(): Promise<void>;
  /** Compares what was logged with docs/state-machine.md. */
  changes(): Promise<CheckedHistory>;
}

/** A schema of the test's own, with a table of effects without any constraint that would help. */
export async function createData(
  url: string,
  schema: string = `test_${randomUUID().replaceAll("-", "")}`,
): Promise<Data> {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  const db = new Kysely<Effects>({ dialect: new PostgresDialect({ pool }) }).withSchema(schema);
  await sql`create schema ${sql.id(schema)}`.execute(db);
  await db.schema.createTable("effect").addColumn("event", "text").addColumn("attempt", "integer").execute();
  onTestFinished(async () => {
    await sql`drop schema ${sql.id(schema)} cascade`.execute(db);
    await db.destroy();
  });
  return {
    schema,
    db,
    async effects() {
      const { rows } = await sql<{ effects: number; events: number }>`
        select count(*)::int as effects, count(distinct event)::int as events
        from ${sql.id(schema, "effect")}`.execute(db);
      return rows[0] ?? { effects: 0, events: 0 };
    },
    async states() {
      const { rows } = await sql<{ state: string; count: number }>`
        select state, count(*)::int as count from ${sql.id(schema, "event")} group by state`.execute(db);
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
    async watch() {
      await sql.raw(postgresHistory(schema)).execute(db);
    },
    async changes() {
      const { rows } = await sql.raw<RowChange>(postgresHistoryOf(schema)).execute(db);
      return checkHistory(rows);
    },
  };
}

export function openInbox<Database = Effects>(
  url: string,
  options: Omit<Parameters<typeof postgresInbox<Database>>[0], "url">,
): PostgresInbox<Database> {
  const inbox = postgresInbox<Database>({ url, ...options });
  onTestFinished(() => inbox.close());
  return inbox;
}

/** A process that is killed at the end of the test, if not before. */
export function start(environment: Record<string, string>): Run {
  return runInTest([worker], environment);
}
