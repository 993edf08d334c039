import type { InboxState } from "@esim-webhooks/core";
import { type Connection, pragma } from "../database/connection.ts";
import type { Transaction } from "../database/transaction.ts";
import { ofSubject } from "./filter.ts";
import { freeLanes } from "./lane.ts";

export interface EraseInput {
  readonly subject: string;
  /** The text that replaces the subject in the entry of `latestOnly`, which must stay. */
  readonly replacement: string;
  readonly limit: number;
  /** The retention of events that were not done before. */
  readonly retentionMs: number;
}

/**
 * Overwrites the personal data of some events of a subject, which are done then: the worker of a leased one loses its lease, and the
 * next events of their lanes can be taken. Returns how many there were in each state. The writer's connection overwrites what it frees; `truncateLog` then empties the log.
 */
export function erase(tx: Transaction, input: EraseInput): Readonly<Record<InboxState, number>> {
  const erased: Record<InboxState, number> = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  const { sql, parameters } = ofSubject({ subject: input.subject });
  const found = tx.all<{ rowid: number; state: InboxState; lane: string | null }>(
    `select rowid, state, lane from esim_webhooks_event where ${sql} order by received_at limit ?`,
    ...parameters,
    input.limit,
  );
  for (const { state } of found) erased[state] += 1;
  tx.run(
    `update esim_webhooks_event set
      due_at = null, leased_until = null, kept_until = iif(state = 'done', kept_until, $now + $retentionMs), settled_at = iif(state = 'done', settled_at, $now),
      state = 'done', fence = null, term_ms = 0, suspect = 0, waiting_since = null, held = 0, erased_at = $now,
      error = 'erased', body = null, lane = null, subject = null, trace = null, history = null,
      replay = iif(replay is null, null, json_object('run', replay ->> 'run', 'rebuilt', replay -> 'rebuilt'))
    where rowid in (select value from json_each($rowids))`,
    {
      now: tx.nowMs,
      retentionMs: input.retentionMs,
      rowids: JSON.stringify(found.map(({ rowid }) => rowid)),
    },
  );
  freeLanes(
    tx,
    found.flatMap(({ state, lane }) => (state === "done" || state === "unhandled" ? [] : (lane ?? []))),
  );
  renameLatest(tx, input);
  return erased;
}

/** Keeps how far `latestOnly` has come for the subject, under `replacement`: without the entry, older events would run. */
function renameLatest(tx: Transaction, { subject, replacement }: EraseInput): void {
  const rows = tx.all<{ family: string; occurred_at: number }>(
    `with recursive known (family) as (
      select min(family) from esim_webhooks_latest
      union all
      select (select min(family) from esim_webhooks_latest where family > known.family) from known
      where known.family is not null
    )
    select latest.family, latest.occurred_at from known
    join esim_webhooks_latest as latest on latest.family = known.family and latest.subject = ?`,
    subject,
  );
  for (const { family, occurred_at } of rows) {
    tx.run(
      `insert into esim_webhooks_latest (family, subject, occurred_at) values (?, ?, ?)
      on conflict (family, subject) do update set occurred_at = max(occurred_at, excluded.occurred_at)`,
      ...[family, replacement, occurred_at],
    );
    tx.run("delete from esim_webhooks_latest where family = ? and subject = ?", family, subject);
  }
}

const waitForReadersMs = 200; // others cannot write meanwhile

/** Empties the log, which may still hold erased data. False: it could not, as when another connection reads an earlier state. */
export function truncateLog(connection: Connection, _: undefined): boolean {
  const busyMs = Number(pragma(connection, "busy_timeout"));
  connection.exec(`pragma busy_timeout = ${waitForReadersMs}`);
  try {
    return pragma(connection, "wal_checkpoint(truncate)") === 0;
  } finally {
    connection.exec(`pragma busy_timeout = ${busyMs}`);
  }
}
