import { randomUUID } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";
import * as first from "../../packages/store-postgres/src/database/migration-0001.ts";
import type { Effects } from "./process.ts";
import type { Place } from "./upgrade.ts";

export interface PostgresPlace extends Place {
  readonly url: string;
  query(text: string): Promise<readonly Record<string, unknown>[]>;
  /** A connection of its own, which is closed at the end of the test. */
  connect(): Promise<pg.Client>;
}

/** A new database with the tables of the previous version, and that many done events. */
export async function previousPostgres(serverUrl: string, events: number): Promise<PostgresPlace> {
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
  const query = async (text: string) => (await pool.query(text)).rows;
  await query(`${first.text}
    insert into esim_webhooks.migration (number, id) values (1, '${first.id}');
    create table effect (event text, lane text, began float8, ended float8, version text);
    insert into esim_webhooks.event (source, id, state, ends_at, type, fingerprint, received_at, occurred_at, lane, attempts)
    select 'default', 'filled_' || md5(n::text), 'done', now() + interval '30 days', 'esim.enabled', n,
      now() - n * interval '1 second', now() - n * interval '1 second', 'esim ' || n % 10000, 1
    from generate_series(1, ${events}) as n`);
  await query("vacuum analyze esim_webhooks.event");
  return {
    environment: { STORE: "postgres", PLACE: url },
    url,
    query,
    async connect() {
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => {});
      await client.connect();
      onTestFinished(() => client.end());
      return client;
    },
    effects: async () => (await pool.query<Effects["effect"]>("select * from effect")).rows,
    async states() {
      const rows = await query(
        "select state, count(*)::int from esim_webhooks.event where id not like 'filled%' group by state",
      );
      return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
    },
  };
}
