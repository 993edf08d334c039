import type { WorkerPresence, WorkerReport } from "@esim-webhooks/core";
import { workerGoneMs } from "@esim-webhooks/core/engine";
import { type Kysely, sql } from "kysely";
import { inMs, serverTime, type Tables } from "../database/tables.ts";

/**
 * Notes that a worker is alive, and forgets those that are gone. After a pause of all workers, each one forgets the others: it locks its own
 * row first and skips locked rows, so there is no deadlock.
 */
export async function report(db: Kysely<unknown>, tables: Tables, worker: WorkerReport): Promise<void> {
  const { id, host, pid, version, concurrency, running, startedMsAgo, sinceLastTakeMs } = worker;
  await sql`
    insert into ${tables.worker} (id, host, pid, version, concurrency, running, started_at, last_take_at, seen_at)
    values (
      ${id}, ${host}, ${pid}, ${version}, ${concurrency}, ${running}, ${inMs(-startedMsAgo)},
      ${sinceLastTakeMs === null ? null : inMs(-sinceLastTakeMs)}, ${serverTime}
    )
    on conflict (id) do update
      set running = excluded.running, last_take_at = excluded.last_take_at, seen_at = excluded.seen_at,
        started_at = excluded.started_at`.execute(db);
  await sql`
    delete from ${tables.worker} where id in (
      select id from ${tables.worker} where seen_at <= ${inMs(-workerGoneMs)} for update skip locked
    )`.execute(db);
}

interface Row extends Pick<WorkerPresence, "id" | "host" | "pid" | "version" | "concurrency" | "running"> {
  readonly started_at: Date;
  readonly last_take_at: Date | null;
  readonly seen_at: Date;
}

export async function workers(db: Kysely<unknown>, tables: Tables): Promise<WorkerPresence[]> {
  const { rows } = await sql<Row>`
    select * from ${tables.worker} where seen_at > ${inMs(-workerGoneMs)} order by id collate "C"`.execute(
    db,
  );
  return rows.map(({ started_at: startedAt, last_take_at: lastTakeAt, seen_at: seenAt, ...worker }) => ({
    ...worker,
    startedAt,
    lastTakeAt,
    seenAt,
  }));
}
