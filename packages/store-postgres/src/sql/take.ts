import type { TakenEvent, TakeOptions } from "@esim-webhooks/core";
import { leaseEnded } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import { serverTime, type Tables } from "../database/tables.ts";

interface Row {
  readonly source: string;
  readonly id: string;
  readonly token: string;
  readonly type: string | null;
  readonly body: Buffer;
  readonly received_ms: number;
  readonly attempts: number;
  readonly waited_ms: number;
  readonly replayed: boolean;
  readonly trace: string | null;
  readonly due_ms: number;
}

/** Ready and due → leased. The functions in the database are explained in their migrations. */
export async function take(
  db: Kysely<unknown>,
  tables: Tables,
  { limit, leaseMs, only, except, suspects = false }: TakeOptions,
  laneHeldByDead: boolean,
): Promise<TakenEvent[]> {
  const { rows } = await sql<Row>`
    select source, id, fence::text as token, type, body,
      date_part('epoch', received_at) * 1000 as received_ms, attempts,
      coalesce(date_part('epoch', ${serverTime} - waiting_since) * 1000, 0) as waited_ms, replay is not null as replayed, trace,
      date_part('epoch', ${serverTime} - due_at) * 1000 as due_ms
    from ${suspects ? tables.leaseSuspects : tables.leaseDue}(
      ${limit}::int, ${leaseMs}::float8 * interval '1 millisecond', ${serverTime},
      ${only ? [...only] : null}::text[], ${except?.length ? [...except] : null}::text[], ${laneHeldByDead}
    )`.execute(db);
  return rows.map(
    ({ source, id, token, type, body, received_ms, attempts, waited_ms, replayed, trace, due_ms }) => ({
      source,
      id,
      token,
      type,
      body,
      receivedAt: new Date(Math.round(received_ms)),
      attempt: attempts,
      waitedMs: Math.round(waited_ms),
      replayed,
      dueForMs: due_ms,
      trace,
    }),
  );
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
        history = ${tables.withAttempt}(ended.history, ${leaseEnded}::jsonb, ended.ends_at)
      from over where ended.source = over.source and ended.id = over.id`.execute(db);
  }
}
