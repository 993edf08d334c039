import type { Kysely } from "kysely";
import { runSteps } from "../database/statements.ts";

/**
 * Keeps the planner on the ordered indexes until the transaction ends: the statistics of a queue are always out of date, and with them the
 * planner would scan or sort the whole table.
 */
export async function planByIndexes(db: Kysely<unknown>): Promise<void> {
  const off = ["enable_seqscan", "enable_bitmapscan", "enable_sort", "enable_incremental_sort", "jit"];
  const settings = {
    ...Object.fromEntries(off.map((name) => [name, "off"])),
    max_parallel_workers_per_gather: 0, // starting a worker takes longer than the reads that it saves
  };
  await runSteps(db, [settings]);
}
