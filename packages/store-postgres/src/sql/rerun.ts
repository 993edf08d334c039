import type { EventKey } from "@esim-webhooks/core";
import { keyText } from "@esim-webhooks/core/kit";
import { type Kysely, sql } from "kysely";
import type { Tables } from "../database/tables.ts";
import { inKeyOrder } from "./key-order.ts";
import { type PutRow, putRows } from "./put-rows.ts";

/**
 * Done → ready with the body that is putRows, for rows of different keys. One to one: whether it was done, and its run had
 * not made it ready before. Rows are locked in the order of their keys; who had to wait for one looks at it again, so
 * that of many with the same run one changes it. The imports that made it ready before are kept in `runs`.
 */
export async function rerun(
  db: Kysely<unknown>,
  tables: Tables,
  rows: readonly PutRow[],
): Promise<boolean[]> {
  const { rows: changed } = await sql<EventKey>`
    with given as materialized (${putRows(inKeyOrder(rows, ({ entry }) => entry))}),
    done as materialized (
      select event.source, event.id from ${tables.event} as event join given using (source, id)
      where event.state = 'done'
        and event.replay ->> 'run' is distinct from given.replay ->> 'run'
        and (event.runs is null or given.replay ->> 'run' <> all (event.runs))
      order by given.place
      for update of event
    )
    update ${tables.event} as event
    set state = 'ready', ends_at = ${tables.now()}, attempts = 0, error = null, type = given.type,
      body = given.body, body_hash = sha256(given.body), received_at = given.received, occurred_at = given.occurred,
      lane = given.lane, replay = given.replay, runs = array_remove(event.runs || (event.replay ->> 'run'), null)
    from given join done using (source, id)
    where event.source = given.source and event.id = given.id
    returning event.source, event.id`.execute(db);
  const names = new Set(changed.map(keyText));
  return rows.map(({ entry }) => names.has(keyText(entry)));
}
