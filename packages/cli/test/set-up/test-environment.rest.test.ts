import { randomUUID } from "node:crypto";
import { newSecret } from "@esim-webhooks/core/testing";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { begin, cli, folder, jsonLines } from "../cli.ts";

/** A database of the test's own, since the schemas have their default names. */
async function newDatabase(): Promise<string> {
  const name = `cli_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const admin = new pg.Client(postgresUrl);
  await admin.connect();
  await admin.query(`create database ${name}`);
  onTestFinished(async () => {
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  const url = new URL(postgresUrl);
  url.pathname = name;
  return url.href;
}

it("both environments use one Postgres, each with a schema of its own, and see their own events alone", async () => {
  const database = await newDatabase();
  const cwd = folder();
  const production = {
    DATABASE_URL: database,
    ESIM_WEBHOOK_SECRET: newSecret(),
    ESIM_TEST_WEBHOOK_SECRET: newSecret(),
  };
  const test = { ...production, ESIM_ENVIRONMENT: "test" };
  const environments = [
    { env: production, type: "esim.faulted", source: "default" },
    { env: test, type: "esim.enabled", source: "test" },
  ];
  for (const { env, type } of environments) {
    const serving = begin(["serve", "--port", "0"], { cwd, env });
    const [url] = await serving.written(/http:\/\/\S+\/webhooks/);
    expect((await cli(["send", type, "--url", String(url)], { cwd, env })).code).toBe(0);
    serving.kill("SIGTERM");
    expect((await serving.ended).code).toBe(0);
  }
  for (const { env, type, source } of environments) {
    const rows = jsonLines(await cli(["inbox", "list", "--json"], { cwd, env }));
    expect(rows).toEqual([expect.objectContaining({ type, source })]);
    const ofOther = environments.find((each) => each.type !== type)?.type ?? "";
    expect((await cli(["events", "describe", type], { cwd, env })).code).toBe(0); // it has seen it
    expect((await cli(["events", "describe", ofOther], { cwd, env })).code).toBe(2);
  }
  const client = new pg.Client(database);
  await client.connect();
  const { rows } = await client.query(
    "select nspname from pg_namespace where nspname like 'esim%' order by 1",
  );
  await client.end();
  expect(rows.map(({ nspname }) => nspname)).toEqual(["esim_webhooks", "esim_webhooks_test"]);
});
