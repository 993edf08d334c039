import { importDeliveries } from "@esim-webhooks/import";
import type { PostgresInbox } from "@esim-webhooks/store-postgres";
import type pg from "pg";
import { chunksOf } from "./import-dump.ts";

/** Events per second of an import into an empty inbox. */
export async function measureImport(inbox: PostgresInbox, dump: Uint8Array): Promise<number> {
  const start = performance.now();
  const { ledger } = await importDeliveries(chunksOf(dump), inbox, { trustUnsigned: true });
  const seconds = (performance.now() - start) / 1000;
  if (ledger.stored !== ledger.read) throw new Error(JSON.stringify(ledger));
  return ledger.read / seconds;
}

/** The columns that an import writes, with their types. */
const columns = {
  source: "text",
  id: "text",
  state: "text",
  due_at: "timestamptz",
  type: "text",
  body: "bytea",
  fingerprint: "bigint",
  received_at: "timestamptz",
  occurred_at: "timestamptz",
  lane: "text",
  replay: "jsonb",
};
const names = Object.keys(columns);

/** The values of one statement: one list per column. */
export type Batch = readonly (readonly unknown[])[];

/** The rows that an import has written, in the same order, as batches for `measureBare`. */
export async function batchesFrom(pool: pg.Pool, schema: string, size: number): Promise<Batch[]> {
  const { rows } = await pool.query({
    text: `select ${names.map((name) => (columns[name as keyof typeof columns] === "bytea" ? name : `${name}::text`)).join(", ")}
      from ${schema}.event order by ctid`,
    rowMode: "array",
  });
  return Array.from({ length: Math.ceil(rows.length / size) }, (_, n) => {
    const part = rows.slice(n * size, (n + 1) * size);
    return names.map((_, column) => part.map((row) => row[column]));
  });
}

/** Rows per second of bare `insert … select from unnest(…)` statements, two at a time, without checks for conflicts. */
export async function measureBare(pool: pg.Pool, schema: string, batches: readonly Batch[]): Promise<number> {
  const lists = Object.values(columns).map((type, n) => `$${n + 1}::${type}[]`);
  const text = `insert into ${schema}.event (${names.join(", ")}) select * from unnest(${lists.join(", ")})`;
  const left = [...batches].reverse();
  const start = performance.now();
  const insertNext = async () => {
    for (let batch = left.pop(); batch !== undefined; batch = left.pop()) await pool.query(text, [...batch]);
  };
  await Promise.all([insertNext(), insertNext()]);
  const seconds = (performance.now() - start) / 1000;
  return batches.reduce((sum, [ids = []]) => sum + ids.length, 0) / seconds;
}
