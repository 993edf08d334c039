import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { inSchema } from "./migrations.ts";
import { qualified, type Tables } from "./tables.ts";
import { withoutTimeouts } from "./without-timeouts.ts";

const pauseMs = 200;
const mostTries = 10;
/** How long a claim is valid: longer than it takes until the server shows that the index is being built. */
const claimSeconds = 5;

/** The errors that a second process which builds meanwhile may cause: a deadlock, a lock that was not available, an index that exists. */
const collisions: ReadonlySet<unknown> = new Set(["40P01", "55P03", "42P07", "23505"]);

/**
 * Builds an index while its table is in use. Waits while another process builds it, even if that process has died: the server continues
 * the building. Rebuilds an index that was left invalid. `definition` is what follows `create index`: the name of the index first.
 *
 * The building waits for all transactions that can see an older state. A second process that waited for its lock would be one of
 * them, which is a deadlock. So a process first claims the building, in a statement of its own: a lock of the session would not work
 * behind a transaction pooler.
 */
export async function buildIndex(
  connection: Kysely<unknown>,
  tables: Tables,
  logger: Logger,
  applied: number,
  definition: string,
): Promise<void> {
  const name = definition.slice(0, definition.indexOf(" "));
  for (let tries = 0; ; ) {
    if ((await stateOf(connection, tables, name)) === "valid") return;
    if (!(await claim(connection, tables, applied))) {
      await delay(pauseMs);
      continue;
    }
    const state = await stateOf(connection, tables, name); // it may have become valid before the claim
    if (state === "valid") return;
    logger.info({ schema: tables.schema, index: name }, "building an index");
    try {
      await withoutTimeouts(connection, async () => {
        const run = (text: string) => sql.raw(inSchema(tables.schema, text)).execute(connection);
        if (state === "invalid") await run(`drop index concurrently if exists esim_webhooks.${name}`);
        await run(`create index concurrently if not exists ${definition}`);
      });
    } catch (error) {
      tries += 1;
      if (tries === mostTries || !collisions.has((error as { code?: unknown }).code)) throw error;
    } finally {
      await sql`update ${tables.migration} set claimed_until = null where number = ${applied}`
        .execute(connection)
        .catch(() => {}); // the claim ends by itself
    }
  }
}

async function stateOf(
  db: Kysely<unknown>,
  tables: Tables,
  name: string,
): Promise<"absent" | "invalid" | "valid"> {
  const { rows } = await sql<{ valid: boolean }>`
    select indisvalid as valid from pg_index where indexrelid = to_regclass(${qualified(tables, name)})`.execute(
    db,
  );
  if (rows[0] === undefined) return "absent";
  return rows[0].valid ? "valid" : "invalid";
}

/** Claims the building. False: another process builds an index of the table, or is about to. */
async function claim(db: Kysely<unknown>, tables: Tables, applied: number): Promise<boolean> {
  const { rows } = await sql`
    update ${tables.migration} set claimed_until = clock_timestamp() + ${claimSeconds} * interval '1 second'
    where number = ${applied} and (claimed_until is null or claimed_until <= clock_timestamp()) and not exists (
      select from pg_stat_progress_create_index where relid = to_regclass(${qualified(tables, "event")})
    )
    returning number`.execute(db);
  return rows.length > 0;
}
