import { type RawBuilder, sql } from "kysely";

/** The names of the schema's tables and functions, for SQL. */
export interface Tables {
  readonly schema: string;
  readonly event: RawBuilder<unknown>;
  readonly migration: RawBuilder<unknown>;
  readonly latest: RawBuilder<unknown>;
  readonly state: RawBuilder<unknown>;
  readonly purgeClock: RawBuilder<unknown>;
  readonly worker: RawBuilder<unknown>;
  readonly lastDelivery: RawBuilder<unknown>;
  readonly pause: RawBuilder<unknown>;
  readonly minute: RawBuilder<unknown>;
  readonly run: RawBuilder<unknown>;
  readonly leaseDue: RawBuilder<unknown>;
  readonly leaseSuspects: RawBuilder<unknown>;
  readonly settle: RawBuilder<unknown>;
  readonly renew: RawBuilder<unknown>;
  readonly withAttempt: RawBuilder<unknown>;
  readonly pausedTypes: RawBuilder<unknown>;
  readonly hold: RawBuilder<unknown>;
  readonly letGo: RawBuilder<unknown>;
  readonly gauges: RawBuilder<unknown>;
  readonly oldestDue: RawBuilder<unknown>;
  readonly blocked: RawBuilder<unknown>;
  readonly freeLanes: RawBuilder<unknown>;
}

/**
 * The server's time, as SQL. Not `now()`, which does not change within a transaction; not `clock_timestamp()`, which changes within
 * a statement and so cannot be used in an index search.
 */
export const serverTime: RawBuilder<Date> = sql<Date>`statement_timestamp()`;

/** The time `ms` from now, as SQL. */
export function inMs(ms: number): RawBuilder<Date> {
  return sql`(${serverTime} + ${ms}::float8 * interval '1 millisecond')`;
}

/**
 * The time with which to compare the end of a retention, as SQL: the server's, but at most an hour after the last purge, and 1970 while
 * purging is held.
 */
export function retentionTime({ purgeClock }: Tables): RawBuilder<Date> {
  return sql`least(${serverTime}, (
    select to_timestamp(case when held_until_ms > seen_ms then 0 else seen_ms / 1000 + 3600 end) from ${purgeClock}
  ))`;
}

/** Whether there is a pause of this single type, as SQL: an event of the type that becomes ready is held. A statement reads the pauses once. */
export function isPausedType({ pausedTypes }: Tables, type: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${type} = any ((select ${pausedTypes}(${serverTime}))::text[]), false)`;
}

/** `"schema".name` as text, for functions such as `to_regclass`. */
export function qualified({ schema }: Pick<Tables, "schema">, name: string): string {
  return `"${schema}".${name}`;
}

export function tablesIn(schema: string): Tables {
  return {
    schema,
    event: sql.id(schema, "event"),
    migration: sql.id(schema, "migration"),
    latest: sql.id(schema, "latest"),
    state: sql.id(schema, "state"),
    purgeClock: sql.id(schema, "purge_clock"),
    worker: sql.id(schema, "worker"),
    lastDelivery: sql.id(schema, "last_delivery"),
    pause: sql.id(schema, "pause"),
    minute: sql.id(schema, "minute"),
    run: sql.id(schema, "run"),
    leaseDue: sql.id(schema, "lease_due"),
    leaseSuspects: sql.id(schema, "lease_suspects"),
    settle: sql.id(schema, "settle"),
    renew: sql.id(schema, "renew"),
    withAttempt: sql.id(schema, "with_attempt"),
    pausedTypes: sql.id(schema, "paused_types"),
    hold: sql.id(schema, "hold"),
    letGo: sql.id(schema, "let_go"),
    gauges: sql.id(schema, "gauges"),
    oldestDue: sql.id(schema, "oldest_due"),
    blocked: sql.id(schema, "blocked"),
    freeLanes: sql.id(schema, "free_lanes"),
  };
}
