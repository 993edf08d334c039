import type { Transaction } from "../database/transaction.ts";
import { type PutRow, rowParameters } from "./put-row.ts";

/**
 * Done → ready with the body that is put. One to one: whether it was done, and its run had not made it ready before. The
 * imports that made it ready before are kept in `runs`.
 */
export function rerun(tx: Transaction, { rows }: { readonly rows: readonly PutRow[] }): boolean[] {
  return rows.map((row) => {
    const changed = tx.run(
      `update esim_webhooks_event
      set state = 'ready', ends_at = $now, term_ms = 0, attempts = 0, suspect = 0, error = null, type = $type, received_at = $receivedAt,
        occurred_at = $occurredAt, lane = $lane, replay = $replay, fingerprint = $fingerprint, body = $body,
        runs = iif(replay is null, runs, json_insert(coalesce(runs, '[]'), '$[#]', replay ->> 'run'))
      where id = $id and source = $source and state = 'done'
        and replay ->> 'run' is not $replay ->> 'run'
        and not exists (select 1 from json_each(runs) where value = $replay ->> 'run')`,
      { now: tx.nowMs, ...rowParameters(row) },
    );
    return changed > 0;
  });
}
