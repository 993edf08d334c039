import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { root } from "../../../../test/run.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import * as postgres from "../../../store-postgres/src/database/migration-0001.ts";
import * as sqlite from "../../../store-sqlite/src/database/migration-0001.ts";
import { cli, folder, jsonLines } from "../cli.ts";
import { entry, storeAt } from "../operated-inbox.ts";
import { startBackend } from "./backend.ts";
import { openPage } from "./page.ts";

const page = openPage("docs/upgrading.md");
const order = "The order";

describe("docs/upgrading.md: the order", () => {
  it("backs up, migrates and shows the embedded inbox of an earlier version", async () => {
    const cwd = folder();
    mkdirSync(join(cwd, ".esim-webhooks"), { mode: 0o700 });
    const earlier = new DatabaseSync(join(cwd, ".esim-webhooks/events.db"));
    earlier.exec(`${sqlite.text}
      insert into esim_webhooks_migration (number, id, applied_at) values (1, '${sqlite.id}', 0);
      insert into esim_webhooks_event (source, id, state, ends_at, type, received_at, body)
      values ('default', 'msg_1', 'ready', 0, 'esim.enabled', 0, x'7b7d')`);
    earlier.close();
    expect(await page.follow(order, 1, { cwd })).toMatchObject([{ code: 0 }]);
    expect(existsSync(join(cwd, "before-upgrade.db"))).toBe(true);
    expect(await page.follow(order, 2, { cwd })).toMatchObject([{ code: 0 }]);
    expect(await page.follow(order, 3, { cwd })).toMatchObject([
      { code: 0 },
      { code: 0, stdout: expect.stringMatching(/^READY .*\n +1 /) },
    ]);
  });

  it("migrates a Postgres of an earlier version, and shows its migrations", async () => {
    const name = `upgrading_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
    const admin = new pg.Client({ connectionString: postgresUrl });
    await admin.connect();
    await admin.query(`create database ${name}`);
    const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(async () => {
      await client.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    });
    await client.query(
      `${postgres.text} insert into esim_webhooks.migration (number, id) values (1, '${postgres.id}')`,
    );
    expect(await page.follow(order, 2, { cwd: folder(), env: { DATABASE_URL: url } })).toMatchObject([
      { code: 0 },
    ]);
    const [, sql = ""] =
      /```sql\n([\s\S]*?)```/.exec(readFileSync(join(root, "docs/upgrading.md"), "utf8")) ?? [];
    const results = (await client.query(sql)) as unknown as pg.QueryResult[];
    expect(results.map(({ rows }) => rows)).toMatchObject([
      [],
      [
        { number: 1, version: null },
        { number: 2, oldest: 1, version: expect.any(String) },
        { number: 3, oldest: 1 },
      ],
    ]);
  });
});

describe("docs/upgrading.md: going back", () => {
  it("ends all pauses first, until no event is paused", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("msg_1", "esim.enabled")]);
    const pausing = ["inbox", "pause", "--types", "esim.enabled", "--reason", "CRM is down"];
    expect(await cli(pausing, { cwd })).toMatchObject({ code: 0 });
    const stats = () => cli(["inbox", "stats", "--json"], { cwd });
    expect(jsonLines(await stats())).toMatchObject([{ counts: { paused: 1 } }]);
    expect(await page.follow("Going back", 1, { cwd })).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(jsonLines(await stats())).toMatchObject([{ counts: { paused: 0, ready: 1 } }]);
  });
});

describe("docs/upgrading.md: from memory or Redis to a durable store", () => {
  it("recovers what the old store's receivers had answered but not handled", async () => {
    const backend = await startBackend();
    const env = { ...backend.env, BEGAN: new Date(Date.now() - 60_000).toISOString() };
    const answered = await backend.emitAcknowledged(2);
    const section = "From memory or Redis to a durable store";
    expect(await page.follow(section, 1, { ...backend, env })).toMatchObject([{ code: 3 }]);
    expect((await backend.stored()).sort()).toEqual([...answered].sort());
  });
});

it("has no commands that no test has run", () => {
  expect(page.left()).toEqual([]);
});
