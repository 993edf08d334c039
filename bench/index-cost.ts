// node --conditions=@esim-webhooks/source bench/index-cost.ts [events]: what the indexes of the third migration cost on Postgres.
import { type PostgresInbox, postgresInbox } from "@esim-webhooks/store-postgres";
import pg from "pg";
import { privatePostgres } from "../test/servers/index.ts";
import { batchesOf, entriesOf } from "./inbox-entries.ts";
import { median } from "./measure.ts";
import { parentOf, withCpu } from "./process-cpu.ts";

const [events = "1000000", which = ""] = process.argv.slice(2);
const chunk = 25_000;
const received = "create index event_received on event (received_at, id, source)";
const variants: Record<string, readonly string[]> = {
  none: [],
  "received_at, id, source; subject of ended": [
    received,
    "create index event_subject on event (subject, received_at) where subject is not null and state in ('done', 'unhandled', 'dead')",
  ],
  "received_at; subject of ended": [
    "create index event_received on event (received_at)",
    "create index event_subject on event (subject, received_at) where subject is not null and state in ('done', 'unhandled', 'dead')",
  ],
  "received_at; subject of all": [
    "create index event_received on event (received_at)",
    "create index event_subject on event (subject, received_at) where subject is not null",
  ],
  "received_at brin; subject of ended": [
    "create index event_received on event using brin (received_at)",
    "create index event_subject on event (subject, received_at) where subject is not null and state in ('done', 'unhandled', 'dead')",
  ],
};

interface Measured {
  readonly inbox: PostgresInbox;
  readonly schema: string;
  readonly micros: number[];
  readonly ms: number[];
  readonly vacuumMicros: number[];
  readonly walBytes: number[];
}

const server = await privatePostgres({ autovacuum: "off", max_wal_size: "4GB", checkpoint_timeout: "30min" });
const pool = new pg.Pool({ connectionString: server.url, max: 2 });
pool.on("error", () => {});
const one = async (text: string) => (await pool.query(text)).rows[0];
const pid = parentOf((await one("select pg_backend_pid() as pid")).pid);
const measured = new Map<string, Measured>();
for (const [name, indexes] of Object.entries(variants).filter(
  ([name]) => name.includes(which) || name === "none",
)) {
  const schema = `v${measured.size}`;
  const inbox = postgresInbox({ url: server.url, schema });
  await inbox.migrate();
  await pool.query(
    `drop index if exists ${schema}.event_received, ${schema}.event_subject; set search_path = ${schema}; ${indexes.join(";")}; set search_path = public`,
  );
  measured.set(name, { inbox, schema, micros: [], ms: [], vacuumMicros: [], walBytes: [] });
}
for (let n = 0; n < Number(events) / chunk; n += 1)
  for (const { inbox, schema, micros, ms, vacuumMicros, walBytes } of measured.values()) {
    const batches = batchesOf(entriesOf(chunk, 20_000), 500);
    const before = (await one("select pg_current_wal_lsn() as lsn")).lsn;
    const start = performance.now();
    const { cpu } = await withCpu(chunk, pid, async () => {
      for (const batch of batches) {
        await inbox.put(batch);
        const taken = await inbox.take({ limit: 500, leaseMs: 60_000 });
        await inbox.settle(taken.map((lease) => ({ ...lease, state: "done" })));
      }
    });
    ms.push((performance.now() - start) / chunk);
    micros.push(cpu.server);
    const { bytes } = await one(`select pg_current_wal_lsn() - '${before}' as bytes`);
    walBytes.push(Number(bytes) / chunk);
    const vacuumed = await withCpu(chunk, pid, () => pool.query(`vacuum ${schema}.event`));
    vacuumMicros.push(vacuumed.cpu.server);
    if (n % 4 === 3) await pool.query("checkpoint");
  }
for (const [name, { inbox, schema, micros, ms, vacuumMicros, walBytes }] of measured) {
  const { table, indexes, sizes } =
    await one(`select pg_table_size('${schema}.event') / 1e6 as table, pg_indexes_size('${schema}.event') / 1e6 as indexes,
    (select json_object_agg(indexrelid::regclass, round(pg_relation_size(indexrelid) / 1e6)) from pg_index where indrelid = '${schema}.event'::regclass) as sizes`);
  console.log(name);
  console.log(
    `  CPU of the server ${median(micros).toFixed(1)} µs, vacuum ${median(vacuumMicros).toFixed(1)} µs, time ${(median(ms) * 1000).toFixed(1)} µs, log ${median(walBytes).toFixed(0)} bytes an event`,
  );
  console.log(`  table ${Math.round(table)} MB, indexes ${Math.round(indexes)} MB`, JSON.stringify(sizes));
  await inbox.close();
}
await pool.end();
await server.close();
