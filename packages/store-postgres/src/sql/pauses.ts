import type { Logger, Pause } from "@esim-webhooks/core";
import { holdAndLog, type NewPause } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { OpenPostgres } from "../database/postgres-database.ts";
import { serverTime, type Tables } from "../database/tables.ts";
import { textArray } from "./batch.ts";
import { storable } from "./put-rows.ts";

type Database = Pick<OpenPostgres<never>, "run" | "tables">;

/** About how many ready events without a lane, and as many in lanes, a transaction reads to hold those of paused types. */
const lookedAt = 1000;

/** How many events a transaction lets go at most. */
export const mostLetGo = 1000;

/** A time before that of all due events. */
const beginning = "-infinity";

/** The name of a pause of all types in the table. */
const all = "*";

/**
 * Pauses, and then holds the ready events of these types, so that takes need not read past them. The last step reads the old entries of these
 * events in the indexes of due events, which the server then marks as dead. Otherwise the next take would, in 0.2 ms for each thousand.
 */
export async function pause(
  { run, tables }: Database,
  pauses: readonly NewPause[],
  logger: Logger,
): Promise<void> {
  await run((db) => write(db, tables, pauses));
  if (pauses.every(({ type }) => type === null)) return; // while all types are paused, takes read no events
  await holdAndLog(logger, () => holdAll({ run, tables }));
}

async function holdAll({ run, tables }: Database): Promise<void> {
  for (let since: string | null = beginning; since !== null; ) {
    const from: string = since;
    since = await run((db) => hold(db, tables, from));
  }
  await run((db) => hold(db, tables, beginning));
}

/** Writes the pauses of another inbox as it has them, and holds their events. If both have a pause of a type, the later one stays. */
export async function copyPauses({ run, tables }: Database, pauses: readonly Pause[]): Promise<void> {
  if (pauses.length === 0) return;
  const rows = pauses.map(
    ({ type, reason, since, until, by }) =>
      sql`(${storable(type ?? all)}, ${storable(reason)}, ${since.toISOString()}::text::timestamptz, ${until?.toISOString() ?? null}::text::timestamptz, ${storable(by)})`,
  );
  await run((db) =>
    sql`
      insert into ${tables.pause} as pause (type, reason, since, until, by) values ${sql.join(rows)}
      on conflict (type) do update
        set reason = excluded.reason, since = excluded.since, until = excluded.until, by = excluded.by
        where pause.since < excluded.since or pause.until <= ${serverTime}`.execute(db),
  );
  await holdAll({ run, tables });
}

async function write(db: Kysely<unknown>, tables: Tables, pauses: readonly NewPause[]): Promise<void> {
  const rows = pauses.map(
    ({ type, reason, until, by }) =>
      sql`(${storable(type ?? all)}, ${storable(reason)}, ${serverTime}, ${until?.toISOString() ?? null}::text::timestamptz, ${storable(by)})`,
  );
  await sql`
    insert into ${tables.pause} as pause (type, reason, since, until, by) values ${sql.join(rows)}
    on conflict (type) do update
      set reason = excluded.reason, since = excluded.since, until = excluded.until, by = excluded.by`.execute(
    db,
  );
}

/** Holds some events. Resolves to where to continue; null at the end. */
async function hold(db: Kysely<unknown>, tables: Tables, since: string): Promise<string | null> {
  const { rows } = await sql<{ next: string | null }>`
    select ${tables.hold}(${since}::text::timestamptz, ${serverTime}, ${lookedAt})::text as next`.execute(db);
  return rows[0]?.next ?? null;
}

interface Row extends Omit<Pause, "type"> {
  readonly type: string;
}

const isActive = sql`(until is null or until > ${serverTime})`;
const columns = sql`type, reason, since, until, by`;

/** Ends the pauses of these types, or all. Resolves to them once their held events are let go, or that has failed and was logged. */
export async function resume(
  { run, tables }: Database,
  types: readonly string[] | undefined,
  logger: Logger,
): Promise<readonly Pause[]> {
  const ended = await run((db) => end(db, tables, types));
  await holdAndLog(logger, async () => {
    while ((await run((db) => letGo(db, tables))) > 0);
  });
  return ended;
}

async function end(
  db: Kysely<unknown>,
  tables: Tables,
  types: readonly string[] | undefined,
): Promise<readonly Pause[]> {
  const isNamed = types && sql`and type <> ${all} and type = any(${textArray(types.map(storable))}::text[])`;
  const { rows } = await sql<Row>`
    with active as (select ${columns} from ${tables.pause} where ${isActive} ${isNamed ?? sql``} for update),
      ended as (update ${tables.pause} as pause set until = ${serverTime} from active where pause.type = active.type)
    select * from active order by type <> ${all}, type`.execute(db);
  return rows.map(pauseOf);
}

/** Lets go some of the events whose type is no longer paused, and deletes ended pauses of types. Resolves to how many events it has let go. */
async function letGo(db: Kysely<unknown>, tables: Tables): Promise<number> {
  const { rows } = await sql<{ free: number }>`
    select ${tables.letGo}(${serverTime}, ${mostLetGo}) as free`.execute(db);
  return rows[0]?.free ?? 0;
}

/**
 * As `letGo`. Also holds events of paused types among the ready ones that are due first: the process that paused them was killed, or they
 * were stored while the pause began. A take leaves them out, but would have to read past them each time.
 */
export async function letGoAndHold(db: Kysely<unknown>, tables: Tables): Promise<number> {
  const { rows } = await sql<{ free: number }>`
    select ${tables.letGo}(${serverTime}, ${mostLetGo}) as free,
      case when exists (select from ${tables.pause} where type <> ${all})
        then ${tables.hold}(${beginning}::text::timestamptz, ${serverTime}, ${lookedAt}) end`.execute(db);
  return rows[0]?.free ?? 0;
}

export async function paused(db: Kysely<unknown>, tables: Tables): Promise<readonly Pause[]> {
  const { rows } = await sql<Row>`
    select ${columns} from ${tables.pause} where ${isActive} order by type <> ${all}, type`.execute(db);
  return rows.map(pauseOf);
}

function pauseOf({ type, reason, since, until, by }: Row): Pause {
  return { type: type === all ? null : type, reason, since, until, by };
}
