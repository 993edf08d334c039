import type { Handler, Inbox, InboxAdmin, InboxWriter, WebhookEvent } from "@esim-webhooks/core";
import { bullmqInbox } from "@esim-webhooks/queue-bullmq";
import { latestOnly as latestOnPostgres, postgresInbox } from "@esim-webhooks/store-postgres";
import {
  latestOnly as latestOnSqlite,
  type SqliteTransaction,
  sqliteInbox,
} from "@esim-webhooks/store-sqlite";
import { sql, type Transaction } from "kysely";

/** The part of an inbox that operators use, on any engine. */
export type OperatedInbox = InboxWriter & InboxAdmin & { close(): Promise<void> };

/** An inbox in which core's workers handle events. */
export type WorkedInbox = Inbox & { close(): Promise<void> };

/** Opens the inbox of a place: the path of an SQLite file, a schema of the Postgres at DATABASE_URL, or the URL of a Redis. */
export const open = {
  sqlite: (path: string): WorkedInbox => sqliteInbox({ path, timeoutMs: 60_000 }),
  postgres: (schema: string): WorkedInbox =>
    postgresInbox({ url: process.env["DATABASE_URL"] ?? "", schema, timeoutMs: 60_000 }),
  bullmq: (url: string): OperatedInbox => bullmqInbox({ connection: url, name: "events", timeoutMs: 60_000 }),
};

export type Engine = keyof typeof open;
export type WorkedEngine = Exclude<Engine, "bullmq">;

type AnyHandler = Handler<WebhookEvent>;

/** Makes a handler `latestOnly` with the engine's own. Its events are of one state. */
export function latestOnly(engine: WorkedEngine, place: string, handler: AnyHandler): AnyHandler {
  return (
    engine === "sqlite"
      ? latestOnSqlite({ state: "profile" }, handler as Handler<WebhookEvent, SqliteTransaction>)
      : latestOnPostgres({ state: "profile", schema: place }, handler as Handler<WebhookEvent, object>)
  ) as AnyHandler;
}

/** Writes an effect of an event with `context.tx`. */
export async function writeEffect(
  engine: WorkedEngine,
  place: string,
  tx: unknown,
  id: string,
): Promise<void> {
  if (engine === "sqlite")
    (tx as SqliteTransaction).write({ sql: "insert into effect (event) values (?)", parameters: [id] });
  else
    await sql`insert into ${sql.id(place, "effect")} (event) values (${id})`.execute(
      tx as Transaction<unknown>,
    );
}
