import type { Minute, MinuteCounts } from "@esim-webhooks/core";
import { minutesKeptMs } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import { inMs, serverTime, type Tables } from "../database/tables.ts";

/** Adds to the present minute, and forgets those of more than a day ago. */
export async function addMinute(db: Kysely<unknown>, tables: Tables, counts: MinuteCounts): Promise<void> {
  const { stored, done, retried, dead } = counts;
  await sql`
    with old as (
      delete from ${tables.minute} where at in (
        select at from ${tables.minute} where at <= ${inMs(-minutesKeptMs)} for update skip locked
      )
    )
    insert into ${tables.minute} as minute (at, stored, done, retried, dead)
    values (
      to_timestamp(floor(extract(epoch from ${serverTime}) / 60) * 60), ${stored}, ${done}, ${retried}, ${dead}
    )
    on conflict (at) do update
      set stored = minute.stored + excluded.stored, done = minute.done + excluded.done,
        retried = minute.retried + excluded.retried, dead = minute.dead + excluded.dead`.execute(db);
}

/** The minutes of the last day in which something happened, oldest first. */
export async function minutes(db: Kysely<unknown>, tables: Tables): Promise<readonly Minute[]> {
  const { rows } = await sql<Minute>`
    select at, stored::float8 as stored, done::float8 as done, retried::float8 as retried, dead::float8 as dead
    from ${tables.minute} where at > ${inMs(-minutesKeptMs)} order by at`.execute(db);
  return rows;
}

/** Adds the minutes of another inbox. If both have a minute, its larger counts stay, so that a second copy adds nothing. */
export async function copyMinutes(
  db: Kysely<unknown>,
  tables: Tables,
  copied: readonly Minute[],
): Promise<void> {
  await sql`
    insert into ${tables.minute} as minute (at, stored, done, retried, dead)
    select at, stored, done, retried, dead
    from jsonb_to_recordset(${JSON.stringify(copied)}::text::jsonb)
      as given (at timestamptz, stored bigint, done bigint, retried bigint, dead bigint)
    on conflict (at) do update
      set stored = greatest(minute.stored, excluded.stored), done = greatest(minute.done, excluded.done),
        retried = greatest(minute.retried, excluded.retried), dead = greatest(minute.dead, excluded.dead)`.execute(
    db,
  );
}
