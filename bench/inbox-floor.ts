import { sampleData } from "@esim-webhooks/core/testing";
import pg from "pg";
import { type Drained, jobs } from "./inbox-drain.ts";
import { withCpu } from "./process-cpu.ts";

const batchSize = 500;

interface TakenRow {
  readonly source: string;
  readonly id: string;
  readonly fence: string;
}

/** The effect of leasing on a row: it may change indexed columns, or only columns that no index has (Postgres' HOT updates). */
export type Leasing = "in indexes" | "in no index";

const leasings = {
  "in indexes": {
    fillfactor: 80, // as ours
    indexed: [
      "(due_at) where state = 'ready'",
      "(leased_until) where state = 'leased'",
      "(kept_until) where state = 'done'",
    ],
    isOpen: "state = 'ready'",
    isFree: "true",
    lease: "leased_until = clock_timestamp() + interval '30 s'",
  },
  "in no index": {
    fillfactor: 45, // room for the second version next to the first
    indexed: ["(due_at) where open"],
    isOpen: "open",
    isFree: "leased_until <= now()",
    lease: "leased_until = clock_timestamp() + interval '30 s'",
  },
} as const;

/**
 * The floor of a queue that keeps its rows: a table with the columns of ours, the primary key and the indexes that find what is due, and on
 * one connection, alternating, the barest statements that lease 500 rows and mark them as done. Nothing is handled. What is due: events that wait, leases
 * and retentions that have ended. Leased "in no index", only what waits can be found.
 */
export async function openFloor(
  url: string,
  leasing: Leasing,
  server: number,
): Promise<{ drain(): Promise<Drained>; close(): Promise<void> }> {
  const { fillfactor, indexed, isOpen, isFree, lease } = leasings[leasing];
  const schema = leasing === "in indexes" ? "floor" : "floor_hot";
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  await client.query(`
    create schema ${schema};
    create table ${schema}.event (like plain.event including defaults) with (fillfactor = ${fillfactor});
    alter table ${schema}.event add primary key (id, source), add column open boolean default true,
      alter column leased_until set default '-infinity';
    ${indexed.map((rows) => `create index on ${schema}.event ${rows}`).join(";")}`);
  const body = Buffer.from(
    JSON.stringify({ type: "esim.enabled", timestamp: new Date(), data: sampleData("esim.enabled") }),
  );

  const take = () =>
    client.query<TakenRow>({
      name: "take",
      text: `
        update ${schema}.event set state = 'leased', fence = fence + 1, attempts = attempts + 1, ${lease}
        where ctid = any (array(
          select ctid from ${schema}.event where ${isOpen} and due_at <= now() and ${isFree}
          order by due_at limit ${batchSize} for update skip locked
        ))
        returning source, id, fence, type, body, received_at, attempts`,
    });

  const complete = (rows: readonly TakenRow[]) =>
    client.query({
      name: "complete",
      text: `
        update ${schema}.event as done
        set state = 'done', open = null, kept_until = clock_timestamp() + interval '30 days', body = null
        from unnest($1::text[], $2::text[], $3::bigint[]) as given (source, id, fence)
        where done.source = given.source and done.id = given.id and done.fence = given.fence`,
      values: [rows.map(({ source }) => source), rows.map(({ id }) => id), rows.map(({ fence }) => fence)],
    });

  async function drainAll(): Promise<number> {
    const start = performance.now();
    for (let left = jobs; left > 0; ) {
      const { rows } = await take();
      await complete(rows);
      left -= rows.length;
    }
    return jobs / ((performance.now() - start) / 1000);
  }

  return {
    async drain() {
      await client.query(`truncate ${schema}.event`);
      await client.query(
        `insert into ${schema}.event (source, id, state, due_at, type, body, fingerprint, received_at, occurred_at)
        select 'default', 'msg_' || gen_random_uuid(), 'ready', clock_timestamp(), 'esim.enabled', $1, 1, now(), now()
        from generate_series(1, ${jobs})`,
        [body],
      );
      await client.query(`analyze ${schema}.event`);
      return withCpu(jobs, server, drainAll);
    },
    close: () => client.end(),
  };
}
