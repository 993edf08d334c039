import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { begin, cli } from "../cli.ts";

const env = { DATABASE_URL: postgresUrl };

async function connected(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

describe("bench on Postgres", () => {
  it("measures the server in a schema of its own, and drops it", async () => {
    const client = await connected();
    const { code, stdout, stderr } = await cli(["bench", "--seconds", "1"], { env });
    expect(code).toBe(0);
    const { host, pathname } = new URL(postgresUrl);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/, version \d+\.\d+$/);
    expect(lines[0]).toContain(`Postgres at ${host}${pathname},`);
    expect(lines[3]).toMatch(/^stored +[\d,]+ +[\d.]+ +[\d,]+ +100 +[\d.]+ ms +[\d.]+ ms$/);
    expect(lines[4]).toMatch(/^handled +[\d,]+ +[\d.]+ +[\d,]+ +20$/);
    const schema = /in the schema (esim_webhooks_bench_\w{12}), which is removed/.exec(stderr)?.[1];
    const { rows } = await client.query("select to_regnamespace($1) as left", [schema]);
    expect(schema && rows).toEqual([{ left: null }]);
  });

  it("drops the schema when the server fails midway, and ends with the error", async () => {
    const client = await connected();
    const run = begin(["bench", "--seconds", "60"], { env });
    const [, schema] = await run.written(/in the schema (\w+),/);
    await client.query(`drop table ${schema}.event cascade`);
    const { code, stdout, stderr } = await run.ended;
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^Error \(\w+\): /m);
    expect(stderr).not.toContain("it may be left");
    const { rows } = await client.query("select to_regnamespace($1) as left", [schema]);
    expect(rows).toEqual([{ left: null }]);
  });
});
