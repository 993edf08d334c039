import { randomUUID } from "node:crypto";
import pg from "pg";
import { it, onTestFinished } from "vitest";
import { postgresUrl } from "../servers/shared.ts";
import type { Effects } from "./process.ts";
import { expectRollingRestart, migratePrevious, type Place } from "./upgrade.ts";

it("Postgres: processes of the previous version are replaced while events arrive, and no event is lost or handled twice", async () => {
  await expectRollingRestart(await postgresPlace(postgresUrl));
});

/** A new database with the tables of the previous version. */
async function postgresPlace(serverUrl: string): Promise<Place> {
  const name = `upgrade_${randomUUID().replaceAll("-", "").slice(0, 12)}`;
  const admin = new pg.Client({ connectionString: serverUrl });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  pool.on("error", () => {});
  onTestFinished(async () => {
    await pool.end();
    await admin.query(`drop database ${name} with (force)`);
    await admin.end();
  });
  const environment = await migratePrevious({ STORE: "postgres", PLACE: url });
  await pool.query("create table effect (event text, lane text, began float8, ended float8, version text)");
  return {
    environment,
    effects: async () => (await pool.query<Effects["effect"]>("select * from effect")).rows,
    async states() {
      const { rows } = await pool.query(
        "select state, count(*)::int from esim_webhooks.event group by state",
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
  };
}
