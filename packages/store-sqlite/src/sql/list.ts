import type { EventKey, InboxFilter, InboxRow, InboxState, Replay, StoredEvent } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { matching } from "./filter.ts";

/** The place in the list after which a page begins. */
export interface Place extends EventKey {
  /** In ms since the Unix epoch; null for an id that was worked inline. */
  readonly receivedAt: number | null;
}

export interface ListInput {
  readonly filter: InboxFilter;
  readonly limit: number;
  readonly after: Place | undefined;
}

export interface ListedRows {
  readonly rows: readonly InboxRow[];
  /** There is nothing behind these. */
  readonly isLast: boolean;
}

const beforeAll = -9e18; // ids that were worked inline come last
const received = `coalesce(received_at, ${beforeAll})`;

/** Newest received first. */
export function list(connection: Connection, { filter, limit, after }: ListInput): ListedRows {
  const { sql, parameters } = matching(filter);
  const from = after === undefined ? "" : `and (${received}, source, id) < (?, ?, ?)`;
  const rows = connection.all<EventRow>(
    `select ${eventColumns} from esim_webhooks_event where ${sql} ${from}
    order by ${received} desc, source desc, id desc limit ?`,
    ...parameters,
    ...(after === undefined ? [] : [after.receivedAt ?? beforeAll, after.source, after.id]),
    limit + 1,
  );
  return { rows: rows.slice(0, limit).map(inboxRow), isLast: rows.length <= limit };
}

/** One event, with its body. */
export function get(connection: Connection, { source, id }: EventKey): StoredRow | undefined {
  const row = connection.get<EventRow & Omit<StoredRow, keyof InboxRow | "takenAt" | "settledAt"> & Times>(
    `select ${eventColumns}, body, subject, key, trace, taken_at, settled_at, history from esim_webhooks_event where id = ? and source = ?`,
    id,
    source,
  );
  if (row === undefined) return undefined;
  const { body, subject, key, trace, taken_at, settled_at, history, ...rest } = row;
  const times = { takenAt: dateOf(taken_at), settledAt: dateOf(settled_at) };
  return { ...inboxRow(rest), body, subject, key, trace, ...times, history };
}

/** An event, except that `error` is the kept text, with the frames of its stack, and the history is JSON. */
export type StoredRow = Omit<StoredEvent, "stack" | "history"> & { readonly history: string | null };

interface Times {
  readonly taken_at: number | null;
  readonly settled_at: number | null;
}

function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

/** An event as it is in the table, without its body. */
interface EventRow {
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

/** The columns of an `EventRow`: SQL. */
const eventColumns =
  "source, id, state, type, lane, received_at, attempts, ends_at, error, conflicts, replay";

/** As operators see it, except that `error` is the kept text, with the frames of its stack. */
function inboxRow({ received_at, ends_at, replay, ...row }: EventRow): InboxRow {
  return {
    ...row,
    receivedAt: dateOf(received_at),
    endsAt: dateOf(ends_at),
    replay: replay === null ? null : (JSON.parse(replay) as Replay),
  };
}
