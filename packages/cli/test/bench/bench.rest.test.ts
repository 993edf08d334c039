import { readdirSync } from "node:fs";
import pg from "pg";
import { expect, it } from "vitest";
import { postgresUrl } from "../../../../test/servers/shared.ts";
import { folder, start } from "../cli.ts";

const args = ["bench", "--seconds", "60"];

it("bench on SQLite ends at Ctrl-C, and leaves no file", async () => {
  const cwd = folder();
  const before = readdirSync(cwd);
  const run = start([...args, "--inbox", "."], { cwd });
  await run.written(/in the folder/);
  run.kill("SIGINT");
  expect((await run.ended).code).toBe(130);
  expect(readdirSync(cwd)).toEqual(before);
});

it("bench on Postgres ends at Ctrl-C, and leaves no schema", async () => {
  const run = start(args, { env: { DATABASE_URL: postgresUrl } });
  const [, schema] = await run.written(/in the schema (\w+),/);
  run.kill("SIGINT");
  expect((await run.ended).code).toBe(130);
  const client = new pg.Client({ connectionString: postgresUrl });
  await client.connect();
  const { rows } = await client.query("select to_regnamespace($1) as left", [schema]);
  await client.end();
  expect(rows).toEqual([{ left: null }]);
});
