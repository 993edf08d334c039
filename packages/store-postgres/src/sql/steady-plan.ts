import { type Kysely, sql } from "kysely";

/**
 * Keeps the planner on the ordered indexes until the transaction ends: the statistics of a queue are always out of date, and with them it
 * would scan or sort the whole table for a page.
 */
export async function planByIndexes(db: Kysely<unknown>): Promise<void> {
  const off = ["enable_seqscan", "enable_bitmapscan", "enable_sort", "jit"];
  await sql.raw(off.map((setting) => `set local ${setting} = off`).join("; ")).execute(db);
}
