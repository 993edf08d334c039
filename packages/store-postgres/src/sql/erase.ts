import type { EventKey, InboxState } from "@esim-webhooks/core";
import { erasedError, erasedSubject, keyText, spreadRetention } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { OpenPostgres } from "../database/postgres-database.ts";
import { inMs, qualified, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder, textArray } from "./batch.ts";
import { isAbout, statesOfSubjects } from "./filter.ts";
import { planByIndexes } from "./steady-plan.ts";

/**
 * Erases the personal data of at most `limit` events of a subject, then what `latestOnly` keeps of it, in a second transaction. A handler
 * whose transaction has changed a row of `latest` may wait for its event: a transaction that locks both would deadlock with it.
 */
export async function erase(
  { run, tables }: Pick<OpenPostgres<never>, "run" | "tables">,
  subject: string,
  limit: number,
  retentionMs: number,
): Promise<Record<InboxState, number>> {
  const erased = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  const states = await run((db) => eraseSome(db, tables, subject, limit, retentionMs));
  for (const state of states) erased[state] += 1;
  await run((db) => eraseLatest(db, tables, subject));
  return erased;
}

/** Resolves to the states in which the events were; empty if no event is left. */
async function eraseSome(
  db: Kysely<unknown>,
  tables: Tables,
  subject: string,
  limit: number,
  retentionMs: number,
): Promise<readonly InboxState[]> {
  await planByIndexes(db);
  for (;;) {
    const keys = await find(db, tables, subject, limit);
    const states = await eraseEvents(db, tables, keys, subject, retentionMs);
    if (states.length > 0 || keys.length === 0) return states; // otherwise another process has erased them all
  }
}

async function find(
  db: Kysely<unknown>,
  tables: Tables,
  subject: string,
  limit: number,
): Promise<readonly EventKey[]> {
  const parts = statesOfSubjects.map(
    (state) =>
      sql`(select source, id from ${tables.event} where ${state} and ${isAbout(subject)} limit ${limit})`,
  );
  const { rows } = await sql<EventKey>`
    select source, id from (${sql.join(parts, sql` union all `)}) as found limit ${limit}`.execute(db);
  return rows;
}

/**
 * Any state → done, and the next events of their lanes can be taken. Resolves to the states that they were in. Locks rows in the order of
 * their keys, as settlements do. A row that a worker has settled meanwhile is read as it is now.
 */
async function eraseEvents(
  db: Kysely<unknown>,
  tables: Tables,
  keys: readonly EventKey[],
  subject: string,
  retentionMs: number,
): Promise<readonly InboxState[]> {
  const sorted = inKeyOrder(keys, keyText);
  const { rows } = await sql<{ state: InboxState; lane: string | null }>`
    with found as materialized (
      select event.source, event.id, event.state, event.lane from ${tables.event} as event join unnest(
        ${textArray(sorted.map(({ source }) => source))}::text[], ${textArray(sorted.map(({ id }) => id))}::text[]
      ) with ordinality as wanted (source, id, place) using (source, id)
      where event.subject = ${subject}
      order by wanted.place
      for update of event
    )
    update ${tables.event} as event
    set state = 'done', fence = nextval(${qualified(tables, "fence")}::regclass), erased_at = ${serverTime}, error = ${erasedError},
      due_at = null, held = false, leased_until = null,
      kept_until = case found.state when 'done' then event.kept_until else ${inMs(spreadRetention(retentionMs))} end,
      settled_at = case found.state when 'done' then event.settled_at else ${serverTime} end,
      body = null, history = null, lane = null, subject = null, trace = null, waiting_since = null, suspect = false,
      replay = case when event.replay is not null then
        jsonb_build_object('run', event.replay -> 'run', 'rebuilt', event.replay -> 'rebuilt') end
    from found where event.source = found.source and event.id = found.id
    returning found.state, found.lane`.execute(db);
  const lanes = rows.flatMap(({ state, lane }) =>
    state === "done" || state === "unhandled" ? [] : (lane ?? []),
  );
  if (lanes.length > 0)
    await sql`select ${tables.freeLanes}(${textArray(lanes)}::text[], ${serverTime})`.execute(db);
  return rows.map(({ state }) => state);
}

/** Replaces the subject by its hash, since an older event could run without the row. Looks up each family, as no index begins with the subject. */
async function eraseLatest(db: Kysely<unknown>, tables: Tables, subject: string): Promise<void> {
  await sql`
    with recursive families as (
      select min(family) as family from ${tables.latest}
      union all
      select (select min(family) from ${tables.latest} as next where next.family > families.family)
      from families where families.family is not null
    ), erased as (
      delete from ${tables.latest} as latest using families
      where latest.family = families.family and latest.subject = ${subject}
      returning latest.family, latest.occurred_at
    )
    insert into ${tables.latest} as latest (family, subject, occurred_at)
    select family, ${erasedSubject(subject)}, occurred_at from erased order by family
    on conflict (family, subject) do update set occurred_at = greatest(latest.occurred_at, excluded.occurred_at)`.execute(
    db,
  );
}
