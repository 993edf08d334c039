import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { loggerWith } from "../../../test/support/loggers.ts";

export interface OperatedInbox {
  readonly inbox: PostgresInbox;
  /** The folder and the environment with which a config in `fixtures` opens this inbox. */
  readonly at: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
  remove(): Promise<void>;
}

/**
 * Returns a function that opens an empty inbox, in a folder of its own: remove it before the next one is opened. The file that calls this
 * has one schema and one pool of connections, since to make them for each test would take longer than most of the tests.
 */
export function operatedInboxes(): () => Promise<OperatedInbox> {
  const schema = `test_${randomUUID().replaceAll("-", "")}`;
  // the retention of done ids ends at once
  const inbox = postgresInbox({ url: postgresUrl, schema, retentionMs: 1, logger: loggerWith() });
  const client = new pg.Client({ connectionString: postgresUrl });
  beforeAll(async () => {
    await inbox.migrate();
    await client.connect();
  });
  afterAll(async () => {
    await inbox.close();
    await client.query(`drop schema ${schema} cascade`);
    await client.end();
  });
  return async () => {
    const cwd = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
    return {
      inbox,
      at: { cwd, env: { STORE_URL: postgresUrl, STORE_SCHEMA: schema } },
      async remove() {
        for (const table of ["event", "state", "latest", "pause", "worker"])
          await client.query(`delete from ${schema}.${table}`); // truncate makes new files for each index
        rmSync(cwd, { recursive: true, force: true });
      },
    };
  };
}
