import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { entry } from "../../../../test/inbox-entry.ts";
import { root } from "../../../../test/run.ts";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { folder } from "../cli.ts";
import { storeAt } from "../stored.ts";
import { startBackend } from "./backend.ts";
import { openPage } from "./page.ts";

const page = openPage("docs/upgrading.md");
const order = "The order";

describe("docs/upgrading.md: the order", () => {
  it("backs up, migrates and shows the embedded inbox", async () => {
    const cwd = folder();
    await storeAt(cwd, [entry("msg_1")]);
    expect(await page.follow(order, 1, { cwd })).toMatchObject([{ code: 0 }]);
    expect(existsSync(join(cwd, "before-upgrade.db"))).toBe(true);
    expect(await page.follow(order, 2, { cwd })).toMatchObject([{ code: 0 }]);
    expect(await page.follow(order, 3, { cwd })).toMatchObject([
      { code: 0 },
      { code: 0, stdout: expect.stringMatching(/^READY .*\n +1 /) },
    ]);
  });

  it("migrates a Postgres, and shows its migrations", async () => {
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
    expect(await page.follow(order, 2, { cwd: folder(), env: { DATABASE_URL: url } })).toMatchObject([
      { code: 0 },
    ]);
    const [, sql = ""] =
      /```sql\n([\s\S]*?)```/.exec(readFileSync(join(root, "docs/upgrading.md"), "utf8")) ?? [];
    const results = (await client.query(sql)) as unknown as pg.QueryResult[];
    expect(results.map(({ rows }) => rows)).toMatchObject([
      [],
      [{ number: 1, oldest: 1, version: expect.any(String) }],
    ]);
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
