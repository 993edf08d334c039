import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { EsimEvents, InboxEntry } from "@esim-webhooks/core";
import { sampleData } from "@esim-webhooks/core/testing";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { afterAll } from "vitest";
import { postgresUrl } from "../../../test/servers/shared.ts";

export interface OperatedInbox {
  readonly inbox: PostgresInbox;
  /** The folder and the environment with which a config in `fixtures` opens this inbox. */
  readonly at: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
  remove(): Promise<void>;
}

/** The schema of a test file: to make one for each test would take longer than most of the tests. */
const schema = `test_${randomUUID().replaceAll("-", "")}`;
let migrated: Promise<void> | undefined;
afterAll(() => migrated && onPostgres(`drop schema ${schema} cascade`));

/** Opens an empty inbox, in a folder of its own. Remove it before the next one is opened. */
export async function openOperatedInbox(): Promise<OperatedInbox> {
  const url = postgresUrl;
  const cwd = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  // the retention of done ids ends at once
  const inbox = postgresInbox({ url, schema, retentionMs: 1, logger: silent });
  migrated ??= inbox.migrate();
  await migrated;
  return {
    inbox,
    at: { cwd, env: { STORE_URL: url, STORE_SCHEMA: schema } },
    async remove() {
      await inbox.close();
      const tables = ["event", "state", "latest", "pause", "worker"].map((table) => `${schema}.${table}`);
      await onPostgres(`truncate ${tables.join(", ")}`);
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}

async function onPostgres(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** Stores events in the default inbox of a folder. */
export async function storeAt(cwd: string, entries: readonly InboxEntry[]): Promise<void> {
  const inbox = sqliteInbox({ path: join(cwd, ".esim-webhooks/events.db") });
  await inbox.put(entries);
  await inbox.close();
}

const nothing = () => {};
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };

export function configOf(name: "postgres" | "slow" | "failing" | "handlers"): string {
  return fileURLToPath(new URL(`fixtures/${name}.config.ts`, import.meta.url));
}

/** An entry as a receiver puts it into an inbox. */
export function entry(id: string, type: keyof EsimEvents, receivedAt: Date = new Date()): InboxEntry {
  const event = { id, type, timestamp: receivedAt.toISOString(), data: { ...sampleData(type) } };
  const { id: _, ...envelope } = event;
  return { source: "default", id, type, event, body: Buffer.from(JSON.stringify(envelope)), receivedAt };
}
