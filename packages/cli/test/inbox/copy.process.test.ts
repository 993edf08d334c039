import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InboxEntry } from "@esim-webhooks/core";
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import { type SqliteInbox, sqliteInbox } from "@esim-webhooks/store-sqlite";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { cli, type Ended, start } from "../cli.ts";

let cwd: string;
/** A database of the test's own. */
let database: { readonly name: string; readonly url: string; readonly client: pg.Client };
let embedded: SqliteInbox;
let inbox: PostgresInbox;

const lane = ({ data }: { readonly data: unknown }) => (data as { esimReference: string }).esimReference;

beforeEach(async () => {
  cwd = mkdtempSync(join(tmpdir(), "esim-webhooks-cli-"));
  embedded = sqliteInbox({ path: join(cwd, ".esim-webhooks", "events.db"), lane });
  await embedded.ready();
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await onServer(`create database ${name}`);
  const url = String(Object.assign(new URL(postgresUrl), { pathname: `/${name}` }));
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  database = { name, url, client };
  inbox = postgresInbox({ url, lane });
});
afterEach(async () => {
  await Promise.all([embedded.close(), inbox.close(), database.client.end()]);
  await onServer(`drop database ${database.name} with (force)`);
  rmSync(cwd, { recursive: true, force: true });
});

/** Not of pg_stat_activity, which stands still within a transaction. */
const waitingForLocks = `select 1 from pg_locks
  where not granted and database = (select oid from pg_database where datname = current_database())`;

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  await client.query(statement);
  await client.end();
}

const copy = (...args: string[]): Promise<Ended> =>
  cli(["inbox", "copy", ...args], { cwd, env: { DATABASE_URL: database.url } });

function event(id: string, esim: string, timestamp = "2026-11-20T10:00:00Z"): InboxEntry {
  return entry(id, { esim, timestamp });
}

describe("inbox copy", () => {
  it("completes when it is run again after a SIGKILL", async () => {
    const events = Array.from({ length: 3000 }, (_, n) =>
      event(`msg_${String(n).padStart(4, "0")}`, `E${n}`),
    );
    await embedded.put(events);
    await inbox.migrate();
    const { client } = database;
    const inTarget = async () => (await inbox.stats()).states.ready;
    // somebody is just writing one of the ids: the copy has to wait there
    await client.query("begin");
    await client.query(
      "insert into esim_webhooks.event (source, id, state, kept_until) values ('default', 'msg_1500', 'done', now())",
    );
    const { child, ended } = start(["inbox", "copy"], { cwd, env: { DATABASE_URL: database.url } });
    await expect.poll(inTarget).toBe(1500);
    child.kill("SIGKILL");
    expect((await ended).code).toBe(null);
    await client.query("rollback");
    const ledger = JSON.parse((await copy("--json")).stdout) as Record<string, number>;
    expect(ledger).toMatchObject({ read: 3000 });
    expect(ledger["alreadyThere"]).toBeGreaterThanOrEqual(1500);
    expect(await inTarget()).toBe(3000);
  });

  it("says so when another process writes to the inbox meanwhile", async () => {
    await embedded.put([event("msg_1", "E1"), event("msg_2", "E2")]);
    await inbox.migrate();
    const { client } = database;
    await client.query("begin");
    await client.query("lock table esim_webhooks.event in exclusive mode");
    const { ended } = start(["inbox", "copy"], { cwd, env: { DATABASE_URL: database.url } });
    await expect.poll(async () => (await client.query(waitingForLocks)).rowCount).toBeGreaterThan(0);
    await embedded.put([event("msg_3", "E3")]);
    await client.query("commit");
    const { code, stdout, stderr } = await ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain(
      "Error (inbox_in_use): Another process wrote to the embedded inbox in .esim-webhooks while it was copied",
    );
  });
});
