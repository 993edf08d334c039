import { type RawBuilder, sql } from "kysely";

/** The schema's tables, to be named in SQL. */
export interface Tables {
  readonly schema: string;
  readonly event: RawBuilder<unknown>;
  readonly migration: RawBuilder<unknown>;
  readonly latest: RawBuilder<unknown>;
  readonly state: RawBuilder<unknown>;
  readonly take: RawBuilder<unknown>;
  readonly settle: RawBuilder<unknown>;
  readonly renew: RawBuilder<unknown>;
  /** The present time, as SQL. */
  now(): RawBuilder<Date>;
}

/**
 * By the server's clock. Not by `now()`, which stands still within a transaction; nor by `clock_timestamp()`, which no
 * index can be searched by, since it moves within a statement.
 */
const serverTime = sql<Date>`statement_timestamp()`;

/** `"schema".name` as text, for functions that look names up. */
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

/** `ms` from now. */
export function inMs({ now }: Tables, ms: number): RawBuilder<Date> {
  return sql`(${now()} + ${ms}::float8 * interval '1 millisecond')`;
}
