import type { PurgeClock, PurgeSteps } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { OpenPostgres } from "../database/postgres-database.ts";
import type { Tables } from "../database/tables.ts";

/**
 * Each step is a transaction of its own: the clock is one row, which no process may keep locked while it deletes events. Bodies of dead and
 * unhandled events are removed after `bodyRetentionMs`.
 */
export function purgeSteps(
  { run, tables }: Pick<OpenPostgres<never>, "run" | "tables">,
  bodyRetentionMs: number = Number.POSITIVE_INFINITY,
): PurgeSteps {
  return {
    look: () => run((db) => lookAtClock(db, tables)),
    async forget(limit, next, kept) {
      if (!(await run((db) => keepClock(db, tables, next, kept)))) return undefined;
      if (limit === 0) return 0;
      const forgotten = await run((db) => forget(db, tables, limit, next.seenMs));
      const left = limit - forgotten;
      if (left === 0 || !Number.isFinite(bodyRetentionMs)) return forgotten;
      return forgotten + (await run((db) => forgetBodies(db, tables, left, next.seenMs - bodyRetentionMs)));
    },
  };
}

async function lookAtClock(db: Kysely<unknown>, tables: Tables): ReturnType<PurgeSteps["look"]> {
  const { rows } = await sql<{ nowMs: number; seenMs: number | null; heldUntilMs: number | null }>`
    select floor(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs", seen_ms as "seenMs", held_until_ms as "heldUntilMs"
    from (select) as one left join ${tables.purgeClock} on true`.execute(db);
  const { nowMs = Number.NaN, seenMs = null, heldUntilMs = null } = rows[0] ?? {};
  return { nowMs, kept: seenMs === null || heldUntilMs === null ? undefined : { seenMs, heldUntilMs } };
}

/** Writes `next` in place of `kept`. False: another process has replaced `kept`. */
export async function keepClock(
  db: Kysely<unknown>,
  tables: Tables,
  next: PurgeClock,
  kept: PurgeClock | undefined,
): Promise<boolean> {
  const { numAffectedRows = 0n } = await sql`
    insert into ${tables.purgeClock} as clock (seen_ms, held_until_ms) values (${next.seenMs}, ${next.heldUntilMs})
    on conflict (one) do update set seen_ms = excluded.seen_ms, held_until_ms = excluded.held_until_ms
    where clock.seen_ms = ${kept?.seenMs ?? null}`.execute(db);
  return numAffectedRows > 0n;
}

/** Deletes at most `limit` rows whose retention had expired at `untilMs`, but none that another process has locked. Resolves to how many. */
async function forget(db: Kysely<unknown>, tables: Tables, limit: number, untilMs: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from ${tables.event} as old
    using (
      select source, id from ${tables.event}
      where state in ('done', 'unhandled') and kept_until <= to_timestamp(${untilMs / 1000}::float8)
      order by kept_until limit ${limit}
      for update skip locked
    ) as over
    where old.source = over.source and old.id = over.id`.execute(db);
  return Number(numAffectedRows);
}

/** Removes the bodies of at most `limit` events that were dead or unhandled at `untilMs`. Resolves to how many. */
async function forgetBodies(
  db: Kysely<unknown>,
  tables: Tables,
  limit: number,
  untilMs: number,
): Promise<number> {
  const until = sql`to_timestamp(${untilMs / 1000}::float8)`;
  // the index has received_at, which is not later than settled_at unless clocks differ
  const { numAffectedRows = 0n } = await sql`
    update ${tables.event} as old set body = null
    from (
      select source, id from ${tables.event}
      where body is not null and state in ('dead', 'unhandled') and received_at <= ${until} and settled_at <= ${until}
      limit ${limit}
      for update skip locked
    ) as over
    where old.source = over.source and old.id = over.id`.execute(db);
  return Number(numAffectedRows);
}
