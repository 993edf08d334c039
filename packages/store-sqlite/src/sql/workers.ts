import type { WorkerPresence, WorkerReport } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs, type Transaction } from "../database/transaction.ts";

const goneMs = 30_000; // `workerGoneMs` of the kit, which this thread does not load

/** Notes that a worker is alive, and forgets those that are gone. */
export function report(tx: Transaction, worker: WorkerReport): void {
  const { id, host, pid, version, concurrency, running, startedMsAgo, sinceLastTakeMs } = worker;
  const lastTakeAt = sinceLastTakeMs === null ? null : Math.round(tx.nowMs - sinceLastTakeMs);
  tx.run(
    `insert or replace into esim_webhooks_worker
      (id, host, pid, version, concurrency, running, started_at, last_take_at, seen_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    ...[
      id,
      host,
      pid,
      version,
      concurrency,
      running,
      Math.round(tx.nowMs - startedMsAgo),
      lastTakeAt,
      tx.nowMs,
    ],
  );
  tx.run("delete from esim_webhooks_worker where seen_at <= ?", tx.nowMs - goneMs);
}

interface Row extends Pick<WorkerPresence, "id" | "host" | "pid" | "version" | "concurrency" | "running"> {
  readonly started_at: number;
  readonly last_take_at: number | null;
  readonly seen_at: number;
}

export function workers(connection: Connection, _: undefined): WorkerPresence[] {
  const rows = connection.all<Row>(
    "select * from esim_webhooks_worker where seen_at > ? order by id",
    nowMs(connection) - goneMs,
  );
  return rows.map(({ started_at, last_take_at, seen_at, ...worker }) => ({
    ...worker,
    startedAt: new Date(started_at),
    lastTakeAt: last_take_at === null ? null : new Date(last_take_at),
    seenAt: new Date(seen_at),
  }));
}
