import type { BlockedBy, GaugeCount, InboxGauges } from "@esim-webhooks/core";
import { gaugesOf, mostCounted } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { serverTime, type Tables } from "../database/tables.ts";

/** In how many lanes blocked events are counted. */
const mostLanes = 1000;

interface Row extends Record<Exclude<GaugeCount, "blocked">, number> {
  readonly blocked_by: BlockedBy & { readonly is_more: boolean };
  readonly oldest_ms: number | null;
  readonly last: Date | null;
  readonly all_paused: boolean;
}

/**
 * Counts with functions in the database: `schema/gauge-functions.ts` says why. Where the table has changed since the last vacuum, Postgres
 * also reads the row of each index entry, to see whether it is visible. A pause of all types holds no events.
 */
export async function gauges(
  db: Kysely<unknown>,
  tables: Tables,
  laneHeldByDead: boolean,
): Promise<InboxGauges> {
  const { rows } = await sql<Row>`
    select ready::float8, waiting::float8, paused::float8, leased::float8, unhandled::float8, dead::float8,
      ${oldestReadyMs(tables, laneHeldByDead)} as oldest_ms,
      (select to_json(found) from ${tables.blocked}(${serverTime}, ${laneHeldByDead}, ${mostLanes}, ${mostCounted}) as found) as blocked_by,
      (select received_at from ${tables.lastDelivery}) as last,
      exists (select from ${tables.pause} where type = '*' and (until is null or until > ${serverTime})) as all_paused
    from ${tables.gauges}(${serverTime}, ${mostCounted}) as found`.execute(db);
  const { oldest_ms, last, all_paused, blocked_by, ...counts } = rows[0] as Row;
  const { is_more, ...by } = blocked_by;
  return gaugesOf({
    counts,
    blocked: { by, isMore: is_more },
    areAllPaused: all_paused,
    oldestReadyMs: oldest_ms,
    lastReceivedAt: last,
  });
}

/** For how long a worker could have taken the oldest due event, in ms, as SQL. Null: no event is due. */
export function oldestReadyMs({ oldestDue }: Tables, laneHeldByDead: boolean): RawBuilder<number | null> {
  return sql<
    number | null
  >`(extract(epoch from ${serverTime} - ${oldestDue}(${serverTime}, ${laneHeldByDead})) * 1000)::float8`;
}

/** Notes when a delivery was received. Keeps the latest time, whichever process writes last. */
export async function noteDelivery(db: Kysely<unknown>, tables: Tables, receivedAt: Date): Promise<void> {
  await sql`
    insert into ${tables.lastDelivery} as last (received_at) values (${receivedAt})
    on conflict (one) do update set received_at = excluded.received_at
    where last.received_at < excluded.received_at`.execute(db);
}
