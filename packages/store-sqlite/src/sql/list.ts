import type { EventKey, InboxFilter, InboxRow } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { type EventRow, eventColumns, inboxRow } from "./event-row.ts";
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
