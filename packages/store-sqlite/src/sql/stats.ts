import type { InboxFilter, InboxState, InboxStats } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { oldestReadyMs } from "./due.ts";
import { all, found, matching } from "./filter.ts";
import { pausedTypes } from "./pause.ts";

/** Whether a dead event holds its lane. */
export interface LaneRule {
  readonly laneHeldByDead: boolean;
}

export function stats(connection: Connection, { laneHeldByDead }: LaneRule): InboxStats {
  const reading = { ...connection, nowMs: nowMs(connection) };
  const paused = pausedTypes(reading);
  const counted = connection.all<{
    state: InboxState;
    type: string | null;
    count: number;
    last: number | null;
  }>(
    `select state, type, count(*) as count, max(received_at) filter (where replay is null) as last
    from esim_webhooks_event group by state, type order by state, type`,
  );
  const types = counted.map(({ last: _, ...rest }) => rest);
  const last = counted.reduce(
    (newest, row) => Math.max(newest, row.last ?? newest),
    Number.NEGATIVE_INFINITY,
  );
  const states = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  for (const { state, count } of types) states[state] += count;
  const conflicts = connection.get<{ sum: number }>(
    "select coalesce(sum(conflicts), 0) as sum from esim_webhooks_event where conflicts > 0",
  );
  return {
    states,
    types,
    oldestReadyMs: paused.isAll ? null : oldestReadyMs(reading, laneHeldByDead, paused.types),
    conflicts: conflicts?.sum ?? 0,
    lastReceivedAt: Number.isFinite(last) ? new Date(last) : null,
  };
}

export interface CountInput {
  readonly filter: InboxFilter;
  /** The number at which counting stops; undefined to count all. */
  readonly most: number | undefined;
}

/** How many events match a filter. */
export function count(connection: Connection, { filter, most }: CountInput): number {
  const { sql, parameters } = all([...[found(filter) ?? []].flat(), matching(filter)]);
  const row = connection.get<{ count: number }>(
    `select count(*) as count from (select 1 from esim_webhooks_event where ${sql} limit ?)`,
    ...parameters,
    most ?? -1,
  );
  return row?.count ?? 0;
}

/** The sources of all ids. Reads the whole index of the keys: 50 ms for a million rows. */
export function sources(connection: Connection, _: undefined): string[] {
  return connection
    .all<{ source: string }>("select distinct source from esim_webhooks_event order by source")
    .map(({ source }) => source);
}
