import type { EventKey, LaneHolder } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import type { EventRow } from "./event-rows.ts";

export interface GetInput extends EventKey {
  /** SQL. */
  readonly columns: string;
  readonly laneHeldByDead: boolean;
}

/** An event and, if it waits in its lane, for which event. */
export function get(
  connection: Connection,
  { source, id, columns, laneHeldByDead }: GetInput,
): { readonly row: EventRow; readonly heldBy: LaneHolder | null } | undefined {
  const row = connection.get<EventRow>(
    `select ${columns} from esim_webhooks_event where id = ? and source = ?`,
    id,
    source,
  );
  if (row === undefined) return undefined;
  const isHeld = row.state === "ready" && row.lane !== null;
  return { row, heldBy: isHeld ? holderOf(connection, row, laneHeldByDead) : null };
}

/**
 * The event that a ready one waits for: the leased one of its lane, else the first ready one before it, else a dead one before it. Each
 * condition repeats that of an index, word for word.
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
