import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterAll } from "vitest";
import { postgresUrl } from "../../../test/servers/shared.ts";

export interface OperatedInbox {
  readonly inbox: PostgresInbox;
  /** The folder and the environment with which a config in `fixtures` opens this inbox. */
  readonly at: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
  remove(): Promise<void>;
}

/** The schema and the connections of a test file: to make them for each test would take longer than most of the tests. */
const schema = `test_${randomUUID().replaceAll("-", "")}`;
let shared: Promise<{ readonly inbox: PostgresInbox; readonly client: pg.Client }> | undefined;
afterAll(async () => {
  const opened = await shared;
  await opened?.inbox.close();
  await opened?.client.query(`drop schema ${schema} cascade`);
  await opened?.client.end();
});

async function openShared(): Promise<{ readonly inbox: PostgresInbox; readonly client: pg.Client }> {
  // the retention of done ids ends at once
  const inbox = postgresInbox({ url: postgresUrl, schema, retentionMs: 1, logger: silent });
  await inbox.migrate();
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  return { inbox, client };
}

/** Opens an empty inbox, in a folder of its own. Remove it before the next one is opened. */
export async function openOperatedInbox(): Promise<OperatedInbox> {
  const cwd = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  shared ??= openShared();
  const { inbox, client } = await shared;
  return {
    inbox,
    at: { cwd, env: { STORE_URL: postgresUrl, STORE_SCHEMA: schema } },
    async remove() {
      for (const table of ["event", "state", "latest", "pause", "worker"])
        await client.query(`delete from ${schema}.${table}`); // truncate makes new files for each index
      rmSync(cwd, { recursive: true, force: true });
    },
  };
}

const nothing = () => {};
const silent = { debug: nothing, info: nothing, warn: nothing, error: nothing };
