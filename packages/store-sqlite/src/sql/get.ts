import type { EventKey, StoredEvent } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { type EventRow, eventColumns, inboxRow } from "./event-row.ts";

/** One event, with its body. */
export function get(
  connection: Connection,
  { source, id }: EventKey,
): Omit<StoredEvent, "stack"> | undefined {
  const row = connection.get<EventRow & { body: Uint8Array | null }>(
    `select ${eventColumns}, body from esim_webhooks_event where id = ? and source = ?`,
    id,
    source,
  );
  if (row === undefined) return undefined;
  const { body, ...rest } = row;
  return { ...inboxRow(rest), body };
}
