import type { EventKey, InboxRow, LaneHolder, StoredEvent } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { dateOf, type EventRow, eventColumns, inboxRow } from "./event-rows.ts";

export interface GetInput extends EventKey {
  readonly laneHeldByDead: boolean;
}

/** One event, with its body. */
export function get(connection: Connection, { source, id, laneHeldByDead }: GetInput): StoredRow | undefined {
  const row = connection.get<
    EventRow & Omit<StoredRow, keyof InboxRow | "heldBy" | "takenAt" | "erasedAt"> & Times
  >(
    `select ${eventColumns}, body, key, trace, taken_at, erased_at, history from esim_webhooks_event where id = ? and source = ?`,
    id,
    source,
  );
  if (row === undefined) return undefined;
  const { body, key, trace, taken_at, erased_at, history, ...rest } = row;
  const times = { takenAt: dateOf(taken_at), erasedAt: dateOf(erased_at) };
  const heldBy =
    rest.state === "ready" && rest.lane !== null ? holderOf(connection, rest, laneHeldByDead) : null;
  return { ...inboxRow(rest), body, key, trace, heldBy, ...times, history };
}

/**
 * The leased event of the lane of a ready one, else the first one that is ready, else a dead one, if it is before this one. Each condition
 * is that of an index, word for word.
 */
function holderOf(
  connection: Connection,
  { source, id, lane }: EventRow,
  laneHeldByDead: boolean,
): LaneHolder | null {
  const isBefore =
    "and (occurred_at, source, id) < (select occurred_at, source, id from esim_webhooks_event where source = $source and id = $id)";
  const first = (condition: string) =>
    connection.get<LaneHolder>(
      `select source, id, state from esim_webhooks_event
      where lane = $lane and lane is not null and ${condition} order by occurred_at, source, id limit 1`,
      { lane, ...(condition.includes("$id") && { source, id }) },
    );
  return (
    first("state = 'leased'") ??
    first(`state in ('ready', 'leased') ${isBefore}`) ??
    (laneHeldByDead ? first(`state = 'dead' ${isBefore}`) : undefined) ??
    null
  );
}

/** An event, except that `error` is the kept text, with the frames of its stack, and the history is JSON. */
export type StoredRow = Omit<StoredEvent, "stack" | "history"> & { readonly history: string | null };

interface Times {
  readonly taken_at: number | null;
  readonly erased_at: number | null;
}
