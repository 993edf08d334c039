import type { EventKey, TakenEvent, TakeOptions } from "@esim-webhooks/core";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { inMs, type Tables } from "../tables.ts";

/** How lanes are kept. */
export interface LaneRules {
  /** Whether a dead event lets nothing of its lane pass. */
  readonly heldByDead: boolean;
}

interface Row {
  readonly source: string;
  readonly id: string;
  readonly token: string;
  readonly body: Buffer;
  readonly received_at: Date;
  readonly attempts: number;
}

/** Ready and due → leased, what has been due for longest first. Workers skip what others are just taking. */
export async function take(
  db: Kysely<unknown>,
  tables: Tables,
  options: TakeOptions,
  lanes: LaneRules | undefined,
): Promise<TakenEvent[]> {
  if (lanes !== undefined) return takeInLanes(db, tables, options, lanes);
  // out of its lane, or a lane that was given up would let one of its events pass and refuse the others
  return lease(db, tables, options.leaseMs, due(tables, options, sql``), sql`null`);
}

/**
 * In two statements, since the first one may look at a table in which a lane that was taken meanwhile is free still.
 * The lanes are locked between the two, so that the second one sees who has them, and nobody waits at the unique index:
 * who does, with rows of other lanes in hand, makes deadlocks. Locks of the transaction: a transaction pooler is enough.
 */
function takeInLanes(
  db: Kysely<unknown>,
  tables: Tables,
  options: TakeOptions,
  lanes: LaneRules,
): Promise<TakenEvent[]> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<EventKey>`
      with due as materialized (${due(tables, options, headOfLane(tables, lanes))})
      select source, id from due
      where lane is null
        or pg_try_advisory_xact_lock(hashtextextended(${`esim-webhooks lane ${tables.schema} `}::text || lane, 0))`.execute(
      tx,
    );
    if (rows.length === 0) return [];
    const locked = sql`
      select source, id from ${tables.event} as event join unnest(
        ${rows.map(({ source }) => source)}::text[], ${rows.map(({ id }) => id)}::text[]
      ) as given (source, id) using (source, id)
      where lane is null or not exists (${workedInLane(tables)})`;
    return lease(tx, tables, options.leaseMs, locked, sql`taken.lane`);
  });
}

function due(
  tables: Tables,
  { limit, only, except }: TakeOptions,
  condition: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const types = only
    ? sql`and type = any(${[...only]}::text[])`
    : except?.length
      ? sql`and (type is null or type <> all(${[...except]}::text[]))`
      : sql``;
  return sql`
    select source, id, lane from ${tables.event} as event
    where state = 'ready' and body is not null and ends_at <= ${tables.now()} ${types} ${condition}
    order by ends_at limit ${limit}
    for update skip locked`;
}

async function lease(
  db: Kysely<unknown>,
  tables: Tables,
  leaseMs: number,
  chosen: RawBuilder<unknown>,
  lane: RawBuilder<unknown>,
): Promise<TakenEvent[]> {
  const { rows } = await sql<Row>`
    with chosen as materialized (${chosen})
    update ${tables.event} as taken
    set state = 'leased', fence = nextval(${`${tables.schema}.fence`}::regclass), attempts = attempts + 1,
      ends_at = ${inMs(tables, leaseMs)}, lane = ${lane}
    from chosen where taken.source = chosen.source and taken.id = chosen.id
    returning taken.source, taken.id, taken.fence::text as token, taken.body, taken.received_at, taken.attempts`.execute(
    db,
  );
  return rows.map(({ source, id, token, body, received_at, attempts }) => ({
    source,
    id,
    token,
    body,
    receivedAt: received_at,
    attempt: attempts,
  }));
}

/**
 * Nobody of the lane is being worked, and nobody is ahead by the time the event occurred; one that waits for its next
 * try is. That what is not there yet may still come in between, the unique index on leased rows makes harmless.
 */
function headOfLane(tables: Tables, { heldByDead }: LaneRules): RawBuilder<unknown> {
  const waiting = heldByDead ? sql`('ready', 'leased', 'dead')` : sql`('ready', 'leased')`;
  return sql`
    and (lane is null or not exists (
      select from ${tables.event} as ahead
      where ahead.lane = event.lane and ahead.lane is not null and ahead.state in ${waiting}
        and (ahead.occurred_at, ahead.source, ahead.id) < (event.occurred_at, event.source, event.id)
    ) and not exists (${workedInLane(tables)}))`;
}

function workedInLane({ event }: Tables): RawBuilder<unknown> {
  return sql`
    select from ${event} as worked
    where worked.lane = event.lane and worked.lane is not null and worked.state = 'leased'`;
}

/**
 * Leases that have ended → ready, so that everything that waits is in one state. Rows that somebody has locked are
 * skipped: a process that froze while it settled one would hold up every worker.
 */
export async function reap(db: Kysely<unknown>, tables: Tables): Promise<void> {
  await sql`
    with over as materialized (
      select source, id from ${tables.event}
      where state = 'leased' and body is not null and ends_at <= ${tables.now()}
      for update skip locked
    )
    update ${tables.event} as ended
    set state = 'ready', error = coalesce(ended.error, 'The lease ended before its worker settled it.')
    from over where ended.source = over.source and ended.id = over.id`.execute(db);
}
