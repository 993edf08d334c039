import { randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { postgresInbox, postgresStore } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { privatePgBouncer } from "../../../test/servers/index.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { runInTest } from "../../../test/support/run-in-test.ts";
import { later, upgrade } from "./later-version.ts";

/** A database of its own, since an index waits for all transactions of its database. */
let url: string;
let pool: pg.Pool;
const query = async (text: string) => (await pool.query(text)).rows;

beforeEach(async () => {
  const name = `migrate_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const admin = new pg.Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  pool = openPool(5);
  const inbox = postgresInbox({ pool });
  await inbox.migrate();
  await inbox.put([entry("msg_1")]);
  // the first to be registered is the last to run: the transactions of `begin` have ended by then
  onTestFinished(async () => {
    await pool.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
});

function openPool(max: number, options: pg.PoolConfig = {}): pg.Pool {
  const opened = new pg.Pool({ connectionString: url, max, ...options });
  opened.on("error", () => {});
  return opened;
}

/** A connection within a transaction. */
async function begin(text: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {}); // its database is dropped
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; ${text}`);
  return client;
}

const inUse = "select from esim_webhooks.event limit 1";
const sees = "set transaction isolation level repeatable read; select 1";
const here = "database = (select oid from pg_database where datname = current_database())";
const applied = () => query("select number from esim_webhooks.migration order by number");
const all = later.map((_, index) => ({ number: index + 1 }));
const built = later
  .flatMap((migration) => ("indexes" in migration ? migration.indexes : []))
  .map((index) => ({ name: `esim_webhooks.${index.slice(0, index.indexOf(" "))}`, valid: true }))
  .sort((a, b) => (a.name < b.name ? -1 : 1));
const validity = () =>
  query(
    `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
    where indexrelid::regclass::text in (${built.map(({ name }) => `'${name}'`).join()}) order by indexrelid::regclass::text collate "C"`,
  );
const phases = async () =>
  (await query("select phase from pg_stat_progress_create_index where datname = current_database()")).map(
    ({ phase }) => phase,
  );

describe("migrate() of a schema in use", () => {
  it("runs the later migrations once, in five processes concurrently, and keeps the events", async () => {
    const pools = Array.from({ length: 5 }, () => openPool(2));
    onTestFinished(async () => void (await Promise.all(pools.map((own) => own.end()))));
    await Promise.all(pools.map((own) => upgrade(own)));
    expect(await applied()).toEqual(all);
    expect(await validity()).toEqual(built);
    const inbox = postgresInbox({ pool });
    await inbox.ready();
    expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "ready" });
    expect(await inbox.put([entry("msg_2")])).toEqual(["stored"]);
  });

  it("lets others use a table for which it waits, and goes on once it has its lock", async () => {
    const reader = await begin(inUse);
    const migrated = upgrade(pool);
    const waits = () =>
      query(`select from pg_locks where mode = 'AccessExclusiveLock' and not granted and ${here}`);
    for (let tries = 0; tries < 2; tries += 1) {
      await expect.poll(waits).not.toEqual([]);
      await expect.poll(waits).toEqual([]); // it has given up
      await query("update esim_webhooks.event set attempts = attempts + 1");
    }
    await reader.query("commit");
    await migrated;
    expect(await applied()).toEqual(all);
  });

  it("rejects with the transaction that keeps the table, and changes nothing", async () => {
    const reader = await begin(inUse);
    await reader.query("set application_name = 'a report'");
    const { rows } = await reader.query("select pg_backend_pid() as pid");
    await expect(upgrade(pool, 500)).rejects.toMatchObject({
      code: "migration_blocked",
      message: expect.stringMatching(
        new RegExp(
          `could not lock its tables within 0.5 s: the transaction of the backend ${rows[0].pid} \\(user postgres, a report, idle in transaction\\) uses them, and is \\d+ s old. Nothing was changed. .*pg_terminate_backend\\(${rows[0].pid}\\)`,
        ),
      ),
    });
    expect(await applied()).toEqual([{ number: 1 }]);
  });

  it("stops an autovacuum that keeps the table", async () => {
    const vacuum = await begin("lock table esim_webhooks.event in share update exclusive mode"); // as one does
    const migrated = upgrade(pool);
    const waits = () =>
      query(
        `select from pg_locks where mode = 'ShareUpdateExclusiveLock' and not granted and waitstart < now() - interval '1.5 s' and ${here}`,
      );
    await expect.poll(waits).not.toEqual([]); // longer than deadlock_timeout, after which the server stops an autovacuum
    await vacuum.query("commit");
    await migrated;
  });
});

describe("an index that migrate() builds", () => {
  it("is built while events change, also while it waits for an older transaction", async () => {
    const older = await begin(sees);
    const migrated = upgrade(pool);
    await expect.poll(phases).toEqual(["waiting for old snapshots"]);
    await query("update esim_webhooks.event set attempts = attempts + 1");
    await older.query("commit");
    await migrated;
    expect(await validity()).toEqual(built);
    expect(await postgresInbox({ pool }).put([entry("msg_2")])).toEqual(["stored"]);
  });

  it("is built by one of two processes, and the other one waits for it", async () => {
    const older = await begin(sees);
    const builds = upgrade(pool);
    await expect.poll(phases).toEqual(["waiting for old snapshots"]);
    const waits = upgrade(pool);
    const claims = () =>
      query(
        "select from pg_stat_activity where query like '%update%set claimed_until = clock%' and pid <> pg_backend_pid() and datname = current_database()",
      );
    await expect.poll(claims).not.toEqual([]);
    expect(await phases()).toHaveLength(1);
    await older.query("commit");
    await Promise.all([builds, waits]);
    expect(await validity()).toEqual(built);
  });

  it("is built by the next process if the one that began it is killed, and no event is lost", async () => {
    const older = await begin(sees);
    const killed = runInTest([fileURLToPath(new URL("later-version.ts", import.meta.url)), url]);
    await expect.poll(phases).toEqual(["waiting for old snapshots"]);
    killed.child.kill("SIGKILL");
    await killed.ended;
    const migrated = upgrade(pool);
    await older.query("commit");
    await migrated;
    expect(await applied()).toEqual(all);
    expect(await validity()).toEqual(built);
    expect(await postgresInbox({ pool }).get(key("msg_1"))).toMatchObject({ state: "ready" });
  });

  it("is rebuilt where it was left invalid", async () => {
    await upgrade(pool);
    await query(`update pg_index set indisvalid = false where indexrelid = 'esim_webhooks.event_note'::regclass;
      delete from esim_webhooks.migration where number = 3`);
    await upgrade(pool);
    expect(await validity()).toEqual(built);
  });

  it("is not ended by the limits that a role has for its statements, which then are as before", async () => {
    const older = await begin(sees);
    const limited = openPool(1, { options: "-c statement_timeout=2000 -c lock_timeout=1500" });
    onTestFinished(() => limited.end());
    const migrated = upgrade(limited);
    await expect.poll(phases).toEqual(["waiting for old snapshots"]);
    const waits = () =>
      query(
        "select from pg_stat_activity where state = 'active' and query_start < now() - interval '3 s' and query like 'create index%' and datname = current_database()",
      );
    await expect.poll(waits).not.toEqual([]);
    await older.query("commit");
    await migrated;
    const { rows } = await limited.query(
      "select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock",
    );
    expect(rows).toEqual([{ statement: "2s", lock: "1500ms" }]);
  });

  it("can be built behind a transaction pooler", async () => {
    const pooler = await privatePgBouncer(url, 2);
    onTestFinished(() => pooler.close());
    const pools = Array.from({ length: 3 }, () => openPool(2, { connectionString: pooler.url }));
    await Promise.all(pools.map((own) => upgrade(own)));
    await Promise.all(pools.map((own) => own.end()));
    expect(await validity()).toEqual(built);
  });

  it("of a schema without events is made in the transaction that makes the tables", async () => {
    const older = await begin(sees);
    const store = postgresStore({ pool, schema: "another" });
    await store.migrate();
    await store.ready();
    await older.query("commit");
  });
});
