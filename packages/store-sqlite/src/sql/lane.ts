import type { Transaction } from "../database/transaction.ts";

/** Whether a row is the next one of its lane: SQL, each condition that of an index, word for word. */
export function isNextInLane(row: string, laneHeldByDead: boolean): string {
  const before = (other: string) =>
    `(${other}.occurred_at, ${other}.source, ${other}.id) < (${row}.occurred_at, ${row}.source, ${row}.id)`;
  return `not exists (
      select 1 from esim_webhooks_event as worked
      where worked.lane = ${row}.lane and worked.lane is not null and worked.state = 'leased'
    ) and not exists (
      select 1 from esim_webhooks_event as ahead
      where ahead.lane = ${row}.lane and ahead.lane is not null and ahead.state in ('ready', 'leased')
        and ${before("ahead")}
    )${
      laneHeldByDead
        ? ` and not exists (
      select 1 from esim_webhooks_event as died
      where died.lane = ${row}.lane and died.lane is not null and died.state = 'dead' and ${before("died")}
    )`
        : ""
    }`;
}

/** An event whose time came longer ago than this, in ms, gets a new due time once the events ahead of it in its lane have ended. */
const longWaitMs = 60_000;

/**
 * Sets the due time of the next events of these lanes to now if it has passed by more than `longWaitMs`: the age of a due event is to
 * show how long workers have left it, not how long another event was ahead of it.
 */
export function freeLanes(tx: Transaction, lanes: readonly string[]): void {
  if (lanes.length === 0) return;
  tx.run(
    `update esim_webhooks_event set due_at = $now
    where rowid in (
      select (
        select rowid from esim_webhooks_event as event
        where event.lane = freed.value and event.lane is not null and event.state in ('ready', 'leased') and event.state = 'ready'
        order by occurred_at, source, id limit 1
      ) from json_each($lanes) as freed
    ) and held = 0 and due_at < $now - ${longWaitMs}`,
    { now: tx.nowMs, lanes: JSON.stringify(lanes) },
  );
}
