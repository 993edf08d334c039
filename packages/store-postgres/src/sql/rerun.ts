import type { EventKey } from "@esim-webhooks/core";
import { keyText } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import { qualified, serverTime, type Tables } from "../database/tables.ts";
import { inKeyOrder } from "./key-order.ts";
import { type PutRow, putRows } from "./put-rows.ts";

/**
 * Done → ready with a new body, for rows of different keys. Answers one to one whether the row was done and its run had not
 * made it ready before. Locks rows in the order of their keys. A statement that waited for a lock checks the row again, so of
 * many with the same run, one changes it. Keeps the earlier runs in `runs`.
 */
export async function rerun(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<boolean[]> {
  const { rows: changed } = await sql<EventKey>`
    with entry as materialized (${putRows(inKeyOrder(rows, ({ key }) => key))}),
    done as materialized (
      select event.source, event.id from ${tables.event} as event join entry using (source, id)
      where event.state = 'done'
        and event.replay ->> 'run' is distinct from entry.replay ->> 'run'
        and (event.runs is null or entry.replay ->> 'run' <> all (event.runs))
      order by entry.place
      for update of event
    )
    update ${tables.event} as event
    set state = 'ready', fence = nextval(${qualified(tables, "fence")}::regclass), ends_at = ${serverTime}, attempts = 0,
      suspect = false, error = null, type = entry.type, body = entry.body, fingerprint = entry.fingerprint, received_at = entry.received,
      occurred_at = entry.occurred, lane = entry.lane, replay = entry.replay,
      runs = array_remove(event.runs || (event.replay ->> 'run'), null)
    from entry join done using (source, id)
    where event.source = entry.source and event.id = entry.id
    returning event.source, event.id`.execute(db);
  const names = new Set(changed.map(keyText));
  return rows.map(({ key }) => names.has(key));
}
