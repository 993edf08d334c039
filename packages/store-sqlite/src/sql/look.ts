import type {
  EventKey,
  InboxFilter,
  InboxPage,
  InboxRow,
  InboxState,
  InboxStats,
  Replay,
  StoredEvent,
} from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { nowMs } from "../database/transaction.ts";
import { matching } from "./filter.ts";

interface Row {
  readonly source: string;
  readonly id: string;
  readonly state: InboxState;
  readonly type: string | null;
  readonly lane: string | null;
  readonly received_at: number | null;
  readonly attempts: number;
  readonly ends_at: number | null;
  readonly error: string | null;
  readonly conflicts: number;
  readonly replay: string | null;
}

const columns = "source, id, state, type, lane, received_at, attempts, ends_at, error, conflicts, replay";

function rowOf({ received_at, ends_at, replay, ...row }: Row): InboxRow {
  return {
    ...row,
    receivedAt: received_at === null ? null : new Date(received_at),
    endsAt: ends_at === null ? null : new Date(ends_at),
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}

export function get(connection: Connection, { source, id }: EventKey): StoredEvent | undefined {
  const row = connection.get<Row & { body: Uint8Array | null }>(
    `select ${columns}, body from esim_webhooks_event where id = ? and source = ?`,
    id,
    source,
  );
  if (row === undefined) return undefined;
  const { body, ...rest } = row;
  return { ...rowOf(rest), body };
}

/** The place in the listing after which a page begins. */
export interface Place extends EventKey {
  /** In ms since the Unix epoch; null for an id that was worked inline. */
  readonly receivedAt: number | null;
}

export interface ListInput {
  readonly filter: InboxFilter;
  readonly limit: number;
  readonly after: Place | undefined;
}

/** Newest received first; `isLast` when there is nothing behind these. */
export function list(
  connection: Connection,
  { filter, limit, after }: ListInput,
): Pick<InboxPage, "rows"> & { readonly isLast: boolean } {
  const { sql, parameters } = matching(filter);
  const received = "coalesce(received_at, -9e18)"; // ids that were worked inline come last
  const from = after === undefined ? "" : `and (${received}, source, id) < (?, ?, ?)`;
  const rows = connection.all<Row>(
    `select ${columns} from esim_webhooks_event where ${sql} ${from}
    order by ${received} desc, source desc, id desc limit ?`,
    ...parameters,
    ...(after === undefined ? [] : [after.receivedAt ?? -9e18, after.source, after.id]),
    limit + 1,
  );
  return { rows: rows.slice(0, limit).map(rowOf), isLast: rows.length <= limit };
}

export function count(connection: Connection, { filter }: { readonly filter: InboxFilter }): number {
  const { sql, parameters } = matching(filter);
  const row = connection.get<{ count: number }>(
    `select count(*) as count from esim_webhooks_event where ${sql}`,
    ...parameters,
  );
  return row?.count ?? 0;
}

export function stats(connection: Connection, _: undefined): InboxStats {
  const types = connection.all<{ state: InboxState; type: string | null; count: number }>(
    "select state, type, count(*) as count from esim_webhooks_event group by state, type order by state, type",
  );
  const states = { ready: 0, leased: 0, done: 0, unhandled: 0, dead: 0 };
  for (const { state, count } of types) states[state] += count;
  const conflicts = connection.get<{ sum: number }>(
    "select coalesce(sum(conflicts), 0) as sum from esim_webhooks_event where conflicts > 0",
  );
  return { states, types, oldestReadyMs: oldestReadyMs(connection), conflicts: conflicts?.sum ?? 0 };
}

/** Asked of each index by itself: the first row of it is the answer. */
function oldestReadyMs(connection: Connection): number | null {
  const now = nowMs(connection);
  const dueAt = ["lane is null", "lane is not null"].flatMap((where) => {
    const row = connection.get<{ ends_at: number }>(
      `select ends_at from esim_webhooks_event where state = 'ready' and ${where} order by ends_at limit 1`,
    );
    return row === undefined ? [] : [row.ends_at];
  });
  const oldest = Math.min(...dueAt);
  return oldest <= now ? now - oldest : null;
}
