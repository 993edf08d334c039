import { randomUUID } from "node:crypto";
import { postgresInbox, postgresState, postgresStore } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { entry, key } from "../../../test/inbox-entry.ts";
import { postgresUrl } from "../../../test/servers/shared.ts";
import { expectWarnings } from "../../../test/support/warnings.ts";

expectWarnings("database_not_utf8");

/** A pool of connections to a new database with that encoding. */
async function databaseIn(encoding: string): Promise<pg.Pool> {
  const name = `encoding_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const admin = new pg.Client({ connectionString: postgresUrl });
  await admin.connect();
  await admin.query(
    `create database ${name} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
  );
  const url = Object.assign(new URL(postgresUrl), { pathname: `/${name}` }).href;
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  onTestFinished(async () => {
    await pool.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  return pool;
}

it.each(["LATIN1", "WIN1252"])(
  "refuses a database in %s, in migrate() and ready(), before anything is stored",
  async (encoding) => {
    const pool = await databaseIn(encoding);
    const refusal = { code: "database_not_utf8", message: expect.stringContaining(encoding) };
    for (const opened of [postgresInbox({ pool }), postgresStore({ pool }), postgresState({ pool })]) {
      await expect(opened.migrate()).rejects.toMatchObject(refusal);
      await expect(opened.ready()).rejects.toMatchObject(refusal);
      await opened.close();
    }
    await expect(postgresInbox({ pool }).put([entry("msg_1")])).rejects.toMatchObject(refusal);
    const { rows } = await pool.query("select to_regnamespace('esim_webhooks') as schema");
    expect(rows).toEqual([{ schema: null }]);
  },
);

it("keeps the text of every error in a database in SQL_ASCII", async () => {
  const pool = await databaseIn("SQL_ASCII");
  const inbox = postgresInbox({ pool });
  await inbox.migrate();
  await inbox.put([entry("msg_1")]);
  const [taken] = await inbox.take({ limit: 1, leaseMs: 60_000 });
  const error = "no SIM: \u65E5\u672C \u{1F993} é";
  if (taken !== undefined) await inbox.settle([{ ...taken, state: "dead", error }]);
  expect(await inbox.get(key("msg_1"))).toMatchObject({ state: "dead", error });
  await inbox.close();
});
