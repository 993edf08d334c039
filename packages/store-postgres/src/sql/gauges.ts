import type { GaugeCount, InboxGauges } from "@esim-webhooks/core";
import { type Kysely, sql } from "kysely";
import { serverTime, type Tables } from "../database/tables.ts";

/** A count ends here: there are more. */
const cap = 10_001;

const due = sql`ends_at <= ${serverTime}`;
const later = sql`ends_at > ${serverTime}`;
const outOfLanes = sql`body is not null and lane is null`;
const inLanes = sql`body is not null and lane is not null`;

/** The parts of each count, each with the condition of an index, word for word. */
const parts = {
  ready: [sql`state = 'ready' and ${outOfLanes} and ${due}`, sql`state = 'ready' and ${inLanes} and ${due}`],
  waiting: [
    sql`state = 'ready' and ${outOfLanes} and ${later}`,
    sql`state = 'ready' and ${inLanes} and ${later}`,
  ],
  leased: [sql`state = 'leased' and ${outOfLanes}`, sql`lane is not null and state = 'leased'`],
  unhandled: [sql`state = 'unhandled'`],
  dead: [sql`state = 'dead'`],
} satisfies Record<GaugeCount, unknown>;

/** One statement, in which each part reads one index, up to the cap. */
export async function gauges(db: Kysely<unknown>, tables: Tables): Promise<InboxGauges> {
  const counts = Object.entries(parts).map(([name, conditions]) => {
    const counted = conditions.map(
      (condition) =>
        sql`(select count(*) from (select from ${tables.event} where ${condition} limit ${cap}) as found)`,
    );
    return sql`least(${cap}, ${sql.join(counted, sql` + `)})::int as ${sql.id(name)}`;
  });
  const oldest = parts.ready.map(
    (condition) => sql`(select ends_at from ${tables.event} where ${condition} order by ends_at limit 1)`,
  );
  const { rows } = await sql<Record<GaugeCount, number> & { oldest_ms: number | null; last: Date | null }>`
    select ${sql.join(counts)},
      (extract(epoch from ${serverTime} - least(${sql.join(oldest)})) * 1000)::float8 as oldest_ms,
      (select received_at from ${tables.lastDelivery}) as last`.execute(db);
  const { oldest_ms: oldestReadyMs, last: lastReceivedAt, ...read } = rows[0] as (typeof rows)[number];
  const capped = (Object.keys(parts) as GaugeCount[]).filter((name) => read[name] === cap);
  return { counts: read, capped, oldestReadyMs, lastReceivedAt };
}

/** Keeps the later time, whichever process writes last. */
export async function noteDelivery(db: Kysely<unknown>, tables: Tables, receivedAt: Date): Promise<void> {
  await sql`
    insert into ${tables.lastDelivery} as last (received_at) values (${receivedAt})
    on conflict (one) do update set received_at = excluded.received_at
    where last.received_at < excluded.received_at`.execute(db);
}
