import { type RawBuilder, sql } from "kysely";

/** The names of the schema's tables and functions, for SQL. */
export interface Tables {
  readonly schema: string;
  readonly event: RawBuilder<unknown>;
  readonly migration: RawBuilder<unknown>;
  readonly latest: RawBuilder<unknown>;
  readonly state: RawBuilder<unknown>;
  readonly take: RawBuilder<unknown>;
  readonly settle: RawBuilder<unknown>;
  readonly renew: RawBuilder<unknown>;
  /** The current time, as SQL. */
  now(): RawBuilder<Date>;
}

/**
 * The server's time. Not `now()`, which does not change within a transaction; not `clock_timestamp()`, which changes within
 * a statement and so cannot be used in an index search.
 */
const serverTime = sql<Date>`statement_timestamp()`;

/** `"schema".name` as text, for functions such as `to_regclass`. */
export function qualified({ schema }: Pick<Tables, "schema">, name: string): string {
  return `"${schema}".${name}`;
}

export function tablesIn(schema: string, now: Tables["now"] = () => serverTime): Tables {
  return {
    schema,
    event: sql.id(schema, "event"),
    migration: sql.id(schema, "migration"),
    latest: sql.id(schema, "latest"),
    state: sql.id(schema, "state"),
    take: sql.id(schema, "take"),
    settle: sql.id(schema, "settle"),
    renew: sql.id(schema, "renew"),
    now,
  };
}

/** The time `ms` from now, as SQL. */
export function inMs({ now }: Tables, ms: number): RawBuilder<Date> {
  return sql`(${now()} + ${ms}::float8 * interval '1 millisecond')`;
}
