import { type Kysely, sql } from "kysely";

/**
 * Runs `work` without the limits that the role, the server or the pool has set for statements, and restores them. A `set local` has
 * no effect outside of a transaction.
 */
export async function withoutTimeouts(connection: Kysely<unknown>, work: () => Promise<void>): Promise<void> {
  const { rows: limits } = await sql<{ name: string; setting: string }>`
    select name, setting, set_config(name, '0', false) from pg_settings
    where name in ('statement_timeout', 'lock_timeout', 'transaction_timeout') and setting <> '0'`.execute(
    connection,
  );
  try {
    await work();
  } finally {
    for (const { name, setting } of limits)
      await sql`select set_config(${name}, ${setting}, false)`.execute(connection).catch(() => {});
  }
}
