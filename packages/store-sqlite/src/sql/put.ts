import type { PutResult } from "@esim-webhooks/core";
import type { Transaction } from "../database/transaction.ts";
import { countConflict } from "./count-conflict.ts";
import { hasEnded } from "./lease.ts";
import { fingerprintOf, type PutRow, rowParameters } from "./put-row.ts";

/** Stores rows, one to one; a later one of the same key is compared with what the earlier one left. */
export function put(tx: Transaction, { rows }: { readonly rows: readonly PutRow[] }): PutResult[] {
  return rows.map((row) => (insert(tx, row) ? "stored" : compare(tx, row)));
}

/** The one statement of which there are thousands a second: parameters by name would make it take a third longer. */
function insert(tx: Transaction, row: PutRow): boolean {
  const { id, source, type, receivedAt, occurredAt, lane, replay, body } = row;
  const inserted = tx.run(
    `insert into esim_webhooks_event
      (ends_at, id, source, state, type, received_at, occurred_at, lane, replay, fingerprint, body)
    values (?, ?, ?, 'ready', ?, ?, ?, ?, ?, ?, ?) on conflict do nothing`,
    ...[tx.nowMs, id, source, type, receivedAt, occurredAt, lane, replay, fingerprintOf(row), body],
  );
  return inserted > 0;
}

interface Present {
  /** It was claimed inline. */
  readonly inline: 0 | 1;
  /** Of its body. Null if unknown, or if that inline claim has ended: then its event is as good as absent. */
  readonly fingerprint: number | null;
  readonly rebuilt: 0 | 1;
}

const isInline = "(state = 'leased' and body is null)";

function compare(tx: Transaction, row: PutRow): PutResult {
  const present = tx.get<Present>(
    `select ${isInline} as inline, iif(${isInline} and ${hasEnded}, null, fingerprint) as fingerprint,
      coalesce(replay ->> 'rebuilt', 0) as rebuilt
    from esim_webhooks_event where id = $id and source = $source`,
    { now: tx.nowMs, id: row.id, source: row.source },
  );
  const isConflict = present !== undefined && differs(row, present);
  if (present?.inline && !isConflict) {
    leaveBody(tx, row);
    return "stored";
  }
  if (!isConflict) return "duplicate";
  countConflict(tx, row);
  return "conflict";
}

/** Other bytes are another body only where both were made the same way: a dump has its own way to write JSON. */
function differs(row: PutRow, { fingerprint, rebuilt }: Present): boolean {
  if (fingerprint === null || row.rebuilt !== (rebuilt === 1)) return false;
  return fingerprint !== fingerprintOf(row);
}

/**
 * The id is being worked inline. Its body is left with it, so that the event is worked from here if that does not end well;
 * in no lane, since its turn there is over.
 */
function leaveBody(tx: Transaction, row: PutRow): void {
  const { lane: _, ...parameters } = rowParameters(row);
  tx.run(
    `update esim_webhooks_event
    set type = $type, received_at = $receivedAt, occurred_at = $occurredAt, replay = $replay,
      fingerprint = $fingerprint, body = $body
    where id = $id and source = $source`,
    parameters,
  );
}
