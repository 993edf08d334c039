import type { Inbox } from "@esim-webhooks/core";
import type pg from "pg";
import { entriesOf, newId } from "./inbox-entries.ts";
import { createLike, insertBare } from "./inbox-gathering.ts";

const batch = 500;

export interface Cost {
  readonly putMs: number;
  readonly takeMs: number;
}

/** A table like that of `schema`, with the same rows. */
export async function copyTable(pool: pg.Pool, schema: string, copy: string): Promise<void> {
  await createLike(pool, schema, copy);
  await pool.query(`insert into ${copy}.event select * from ${schema}.event`);
  await pool.query(`vacuum analyze ${copy}.event`);
  await pool.query("checkpoint");
}

/** Inserts a batch of new events, in ms. */
export async function measureBare(client: pg.Client, schema: string): Promise<number> {
  const entries = entriesOf(batch, batch);
  const start = performance.now();
  await insertBare(client, schema, entries);
  return performance.now() - start;
}

/** Inserts a million rows: 1 % dead, 1 % waiting for their next try, the rest done. */
export async function fill(pool: pg.Pool, schema: string): Promise<void> {
  await pool.query(`
    insert into ${schema}.event (source, id, state, due_at, kept_until, type, body, fingerprint, received_at, occurred_at, attempts)
    select 'default', 'msg_' || md5(n::text), state,
      case state when 'ready' then now() + interval '1 day' end, case state when 'done' then now() + interval '1 day' end,
      'esim.enabled', case state when 'done' then null else '{}'::bytea end, 1, now(), now(), 1
    from generate_series(1, 1000000) as n,
      lateral (select case when n % 100 = 0 then 'dead' when n % 100 = 1 then 'ready' else 'done' end as state) as mixed`);
  await pool.query(`vacuum analyze ${schema}.event`);
  await pool.query("checkpoint"); // otherwise Postgres would write the filled pages during the rounds
}

/** Puts, takes and settles a batch of new events. */
export async function measureCost(inbox: Inbox, idOf: () => string = newId.random): Promise<Cost> {
  const entries = entriesOf(batch, batch, idOf);
  const start = performance.now();
  await inbox.put(entries);
  const putAt = performance.now();
  const taken = await inbox.take({ limit: batch, leaseMs: 30_000 });
  const takenAt = performance.now();
  await inbox.settle(taken.map(({ source, id, token }) => ({ source, id, token, state: "done" })));
  if (taken.length !== batch) throw new Error(`took ${taken.length} of ${batch}`);
  return { putMs: putAt - start, takeMs: takenAt - putAt };
}
