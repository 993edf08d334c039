// The notes for operators, in addition to the events: the workers, the runs of imports and reconcile, and what happened in each minute.
import type { Minute, MinuteCounts, WorkerPresence, WorkerReport } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs, type Transaction } from "../database/transaction.ts";

const goneMs = 30_000; // `workerGoneMs` of core, which this thread does not load

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

const mostRuns = 50; // `mostRunNotes` of core

/** Notes an import or a pass that has ended, as JSON, and forgets all but the last fifty of its kind. */
export function noteRun(
  tx: Transaction,
  { kind, note }: { readonly kind: string; readonly note: string },
): void {
  tx.run("insert into esim_webhooks_run (kind, note) values (?, ?)", kind, note);
  tx.run(
    `delete from esim_webhooks_run where kind = $kind and number not in (
      select number from esim_webhooks_run where kind = $kind order by number desc limit ${mostRuns}
    )`,
    { kind },
  );
}

/** The notes as JSON, the last one first. */
export function runs(connection: Connection, _: undefined): string[] {
  return connection
    .all<{ note: string }>("select note from esim_webhooks_run order by number desc")
    .map(({ note }) => note);
}

const minuteMs = 60_000;
const minutesKeptMs = 86_400_000; // as in core

/** Adds to the present minute, and forgets those of more than a day ago. */
export function countMinute(tx: Transaction, { stored, done, retried, dead }: MinuteCounts): void {
  const at = Math.floor(tx.nowMs / minuteMs) * minuteMs;
  tx.run(
    `insert into esim_webhooks_minute (at, stored, done, retried, dead) values ($at, $stored, $done, $retried, $dead)
    on conflict do update set stored = stored + $stored, done = done + $done, retried = retried + $retried, dead = dead + $dead`,
    { at, stored, done, retried, dead },
  );
  tx.run("delete from esim_webhooks_minute where at <= ?", at - minutesKeptMs);
}

/** The minutes of the last day in which something happened, oldest first. */
export function minutes(connection: Connection, _: undefined): Minute[] {
  const rows = connection.all<MinuteCounts & { readonly at: number }>(
    "select at, stored, done, retried, dead from esim_webhooks_minute where at > ? order by at",
    nowMs(connection) - minutesKeptMs,
  );
  return rows.map((row) => ({ ...row, at: new Date(row.at) }));
}
