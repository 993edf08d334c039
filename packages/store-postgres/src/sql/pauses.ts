import type { Logger, Pause } from "@esim-webhooks/core";
import { holdAndLog, type NewPause } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import type { OpenPostgres } from "../database/postgres-database.ts";
import { serverTime, type Tables } from "../database/tables.ts";
import { textArray } from "./batch.ts";
import { storable } from "./put-rows.ts";

type Database = Pick<OpenPostgres<never>, "run" | "tables" | "vacuum">;

/** How many events of paused types are parked, or become due again, in a transaction: some 50 ms of it. Those behind them in lanes may be five times as many. */
const batch = 2000;

/** After more batches than this, dead index entries make takes slow until a vacuum. */
const mostUnvacuumed = 10;

/** The name of a pause of all types in the table. */
const all = "*";

/**
 * Pauses, and then parks what is due, so that takes need not read past it. The migration says what parking is. If that is much, vacuums the
 * table: takes read past what parking leaves in the indexes, too. If it cannot, autovacuum does it later.
 */
export async function pause(
  { run, tables, vacuum }: Database,
  pauses: readonly NewPause[],
  logger: Logger,
): Promise<void> {
  await run((db) => write(db, tables, pauses));
  await holdAndLog(logger, async () => {
    let batches = 0;
    for (let since: string | null = "-infinity"; since !== null; batches += 1) {
      const from: string = since;
      since = await run((db) => park(db, tables, from));
    }
    if (batches > mostUnvacuumed) await vacuum().catch(() => {});
  });
}

async function write(db: Kysely<unknown>, tables: Tables, pauses: readonly NewPause[]): Promise<void> {
  const rows = pauses.map(
    ({ type, reason, until, by }) =>
      sql`(${storable(type ?? all)}, ${storable(reason)}, ${serverTime}, ${until?.toISOString() ?? null}::text::timestamptz, ${storable(by)})`,
  );
  await sql`
    insert into ${tables.pause} as pause (type, reason, since, until, by) values ${sql.join(rows)}
    on conflict (type) do update
      set reason = excluded.reason, since = excluded.since, until = excluded.until, by = excluded.by,
        generation = pause.generation + (coalesce(pause.until <= excluded.since, false))::integer`.execute(
    db,
  );
}

/** Resolves to where to continue; null at the end. */
async function park(db: Kysely<unknown>, tables: Tables, since: string): Promise<string | null> {
  const { rows } = await sql<{ next: string | null }>`
    select ${tables.parkDue}(${since}::text::timestamptz, ${serverTime}, ${batch})::text as next`.execute(db);
  return rows[0]?.next ?? null;
}

interface Row extends Omit<Pause, "type"> {
  readonly type: string;
}

const isActive = sql`(until is null or until > ${serverTime})`;
const columns = sql`type, reason, since, until, by`;

/** Ends the pauses of these types, or all. Resolves to them once what they had parked is due again. */
export async function resume(
  { run, tables }: Database,
  types: readonly string[] | undefined,
  logger: Logger,
): Promise<readonly Pause[]> {
  const ended = await run((db) => end(db, tables, types));
  await holdAndLog(logger, async () => {
    while ((await run((db) => release(db, tables))) > 0);
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
    with active as (
      select ${columns} from ${tables.pause} where ${isActive} ${isNamed ?? sql``} order by type for update
    ), ended as (
      update ${tables.pause} as pause set until = ${serverTime} from active where pause.type = active.type
    )
    select ${columns} from active order by type <> ${all}, type`.execute(db);
  return rows.map(pauseOf);
}

/** Resolves to how many events are due again. */
async function release(db: Kysely<unknown>, tables: Tables): Promise<number> {
  const { rows } = await sql<{ released: number }>`
    select ${tables.releaseParked}(${serverTime}, ${batch}) as released`.execute(db);
  return rows[0]?.released ?? 0;
}

export async function paused(db: Kysely<unknown>, tables: Tables): Promise<readonly Pause[]> {
  const { rows } = await sql<Row>`
    select ${columns} from ${tables.pause} where ${isActive} order by type <> ${all}, type`.execute(db);
  return rows.map(pauseOf);
}

function pauseOf({ type, reason, since, until, by }: Row): Pause {
  return { type: type === all ? null : type, reason, since, until, by };
}
