import type { TakenEvent } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { type Due, longestDue, type TakeInput } from "./due.ts";
import { hasEnded, leaseEnded, leaseEndedAttempt, newFence, withAttempt } from "./lease.ts";
import { pausedForTake } from "./pause.ts";

/** Ready and due → leased, the longest due first. */
export function take(tx: Transaction, input: TakeInput): TakenEvent[] {
  reap(tx);
  const { isAll, types: paused } = pausedForTake(tx);
  if (isAll) return [];
  return lease(tx, longestDue(tx, { ...input, paused }), input.leaseMs);
}

const isEndedLease = `state = 'leased' and body is not null and ${hasEnded}`;

/** Ended leases → ready, as suspects, so that all events that wait are in one state. */
export function reap(tx: Transaction): void {
  const parameters = { now: tx.nowMs };
  // usually there are none, and an update opens every index before it looks
  if (tx.get(`select 1 from esim_webhooks_event where ${isEndedLease} limit 1`, parameters) === undefined)
    return;
  tx.run(
    `update esim_webhooks_event
    set state = 'ready', ends_at = min(ends_at, $now), term_ms = 0, suspect = 1, error = coalesce(error, $leaseEnded),
      history = ${withAttempt(leaseEndedAttempt, "min(ends_at, $now)")}
    where ${isEndedLease}`,
    { ...parameters, leaseEnded },
  );
}

interface Leased {
  readonly rowid: number;
  readonly source: string;
  readonly id: string;
  readonly token: string;
  readonly type: string | null;
  readonly body: Uint8Array;
  readonly receivedAt: number;
  readonly attempt: number;
  readonly tries: number;
  readonly waitingSince: number | null;
  readonly replayed: 0 | 1;
  readonly trace: string | null;
}

/** One statement takes half the time of one for each row, and returns the rows in an order of its own. */
export function lease(tx: Transaction, due: readonly Due[], leaseMs: number): TakenEvent[] {
  const leased = tx.all<Leased>(
    `update esim_webhooks_event
    set state = 'leased', fence = ${newFence}, attempts = attempts + 1, tries = tries + 1, ends_at = ?, term_ms = ?,
      taken_at = coalesce(taken_at, ?)
    where rowid in (select value from json_each(?))
    returning rowid, source, id, fence as token, type, body, received_at as receivedAt, attempts as attempt, tries,
      waiting_since as waitingSince, replay is not null as replayed, trace`,
    ...[tx.nowMs + leaseMs, leaseMs, tx.nowMs, JSON.stringify(due.map(({ rowid }) => rowid))],
  );
  const byRowid = new Map(leased.map((row) => [row.rowid, row]));
  return due.map(({ rowid, endsAt }) => takenEvent(tx, byRowid.get(rowid) as Leased, endsAt));
}

function takenEvent(
  { nowMs }: Transaction,
  { source, id, token, type, body, receivedAt, attempt, tries, waitingSince, replayed, trace }: Leased,
  dueAt: number,
): TakenEvent {
  return {
    source,
    id,
    token,
    type,
    body,
    receivedAt: new Date(receivedAt),
    attempt,
    tries,
    waitedMs: waitingSince === null ? 0 : nowMs - waitingSince,
    replayed: replayed === 1,
    dueForMs: nowMs - dueAt,
    trace,
  };
}
