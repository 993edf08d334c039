import type { TakenEvent, TakeOptions } from "@esim-webhooks/core";
import { type LaneVisit, leaseEnded } from "@esim-webhooks/core/engine";
import { type Kysely, type RawBuilder, sql } from "kysely";
import { isPausedType, serverTime, type Tables } from "../database/tables.ts";

interface Leased {
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

type Row =
  | (Leased & { readonly visited_to: null })
  | { readonly source: null; readonly attempts: number; readonly visited_to: string };

export interface Taken {
  readonly taken: TakenEvent[];
  readonly visit: LaneVisit | undefined;
}

/**
 * Ready and due → leased, by a function of `schema/take-functions.ts`. `after`: the lane at which the last visit of lanes has ended; null
 * leaves out all lanes.
 */
export async function take(
  db: Kysely<unknown>,
  tables: Tables,
  { limit, leaseMs, only, except, suspects = false }: TakeOptions,
  laneHeldByDead: boolean,
  after: string | null,
): Promise<Taken> {
  const { rows } = await sql<Row>`
    select source, id, fence::text as token, type, body,
      date_part('epoch', received_at) * 1000 as received_ms, attempts, tries,
      coalesce(date_part('epoch', ${serverTime} - waiting_since) * 1000, 0) as waited_ms, replay is not null as replayed, trace,
      date_part('epoch', ${serverTime} - due_at) * 1000 as due_ms, visited_to
    from ${suspects ? tables.leaseSuspects : tables.leaseDue}(
      ${limit}::int, ${leaseMs}::float8 * interval '1 millisecond', ${serverTime}, ${wanted(only, except)}, ${laneHeldByDead}
      ${suspects ? sql`` : sql`, ${after}`}
    )`.execute(db);
  const taken = rows.flatMap((row) => (row.source === null ? [] : [takenEvent(row)]));
  const visit = rows.find((row) => row.source === null);
  return { taken, visit: visit && { upto: visit.visited_to, found: visit.attempts > 0 } };
}

/** The types that are asked for, as two arguments. */
function wanted(only: TakeOptions["only"], except: TakeOptions["except"]): RawBuilder<unknown> {
  return sql`${only ? [...only] : null}::text[], ${except?.length ? [...except] : null}::text[]`;
}

function takenEvent({
  received_ms,
  attempts,
  waited_ms,
  due_ms,
  visited_to: _,
  ...row
}: Leased & Row): TakenEvent {
  return {
    ...row,
    receivedAt: new Date(Math.round(received_ms)),
    attempt: attempts,
    waitedMs: Math.round(waited_ms),
    waitMs: due_ms,
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
        where state = 'leased' and body is not null and leased_until <= ${serverTime} and ${pending}
        for update skip locked
      )
      update ${tables.event} as ended
      set state = 'ready', due_at = ended.leased_until, leased_until = null, held = ${isPausedType(tables, sql`ended.type`)}, suspect = true,
        error = coalesce(ended.error, 'The lease ended before its worker settled it.'),
        history = ${tables.withAttempt}(ended.history, ${leaseEnded}::text::jsonb, ended.leased_until)
      from over where ended.source = over.source and ended.id = over.id`.execute(db);
  }
}
