import type { TakenEvent, TakeOptions } from "@esim-webhooks/core";
import { leaseEnded } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { serverTime, type Tables } from "../database/tables.ts";

interface Row {
  readonly source: string;
  readonly id: string;
  readonly token: string;
  readonly type: string | null;
  readonly body: Buffer;
  readonly received_ms: number;
  readonly attempts: number;
  readonly tries: number;
  readonly waited_ms: number;
  readonly replayed: boolean;
  readonly trace: string | null;
  readonly due_ms: number;
}

/** Ready and due → leased. The functions in the database are in the room `schema`. */
export async function take(
  db: Kysely<unknown>,
  tables: Tables,
  { limit, leaseMs, only, except, suspects = false }: TakeOptions,
  laneHeldByDead: boolean,
): Promise<TakenEvent[]> {
  const { rows } = await sql<Row>`
    ${leased} from ${suspects ? tables.leaseSuspects : tables.leaseDue}(
      ${limit}::int, ${leaseMs}::float8 * interval '1 millisecond', ${serverTime}, ${wanted(only, except)}, ${laneHeldByDead}
    )`.execute(db);
  return rows.map(takenEvent);
}

/** Returns a `take` that shares its places among sources. It continues with the sources after those of the last call. */
export function createFairTake(): typeof take {
  let last = "";
  return async (db, tables, options, laneHeldByDead) => {
    const { limit, leaseMs, only, except, suspects } = options;
    if (suspects || limit < 1) return take(db, tables, options, laneHeldByDead);
    const { rows } = await sql<{ sources: string[]; upto: string }>`
      select to_json(sources) as sources, upto from ${tables.dueSources}(${last}, ${limit}::int, ${serverTime}, ${wanted(only, except)})`.execute(
      db,
    );
    const { sources = [], upto = "" } = rows[0] ?? {};
    last = upto;
    if (sources.length < 2) return take(db, tables, options, laneHeldByDead);
    const shared = await sql<Row>`
      ${leased} from ${tables.leaseShares}(
        ${sources}::text[], ${Math.floor(limit / sources.length)}::int, ${leaseMs}::float8 * interval '1 millisecond',
        ${serverTime}, ${wanted(only, except)}, ${laneHeldByDead}
      )`.execute(db);
    const taken = shared.rows.map(takenEvent);
    const left = limit - taken.length;
    return left === 0
      ? taken
      : [...taken, ...(await take(db, tables, { ...options, limit: left }, laneHeldByDead))];
  };
}

const leased = sql`
  select source, id, fence::text as token, type, body,
    date_part('epoch', received_at) * 1000 as received_ms, attempts, tries,
    coalesce(date_part('epoch', ${serverTime} - waiting_since) * 1000, 0) as waited_ms, replay is not null as replayed, trace,
    date_part('epoch', ${serverTime} - due_at) * 1000 as due_ms`;

/** The types that are asked for, as two arguments. */
function wanted(only: TakeOptions["only"], except: TakeOptions["except"]): RawBuilder<unknown> {
  return sql`${only ? [...only] : null}::text[], ${except?.length ? [...except] : null}::text[]`;
}

function takenEvent({ received_ms, attempts, waited_ms, due_ms, ...row }: Row): TakenEvent {
  return {
    ...row,
    receivedAt: new Date(Math.round(received_ms)),
    attempt: attempts,
    waitedMs: Math.round(waited_ms),
    dueForMs: due_ms,
  };
}

/**
 * Leased, but the lease has ended → ready, as a suspect, so that all waiting rows have one state. Skips locked rows: otherwise a process that
 * froze while settling one would block every worker.
 */
export async function reap(db: Kysely<unknown>, tables: Tables): Promise<void> {
  for (const pending of [sql`lane is null`, sql`lane is not null`]) {
    await sql`
      with over as materialized (
        select source, id from ${tables.event}
        where state = 'leased' and body is not null and ends_at <= ${serverTime} and ${pending}
        for update skip locked
      )
      update ${tables.event} as ended
      set state = 'ready', suspect = true, error = coalesce(ended.error, 'The lease ended before its worker settled it.'),
        history = ${tables.withAttempt}(ended.history, ${leaseEnded}::text::jsonb, ended.ends_at)
      from over where ended.source = over.source and ended.id = over.id`.execute(db);
  }
}
