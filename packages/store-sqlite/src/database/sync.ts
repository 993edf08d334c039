import { type Connection, pragma } from "./connection.ts";
import { isFull } from "./faults.ts";
import { type Journal, waitUntil } from "./journal.ts";
import { inTransaction, type Transaction } from "./transaction.ts";

/**
 * Writes and deletes a row, so that the commit syncs as `synchronous` says even if nothing else has changed. With a rollback journal, only
 * a commit syncs the journal's removal, and a commit that has changed no page does nothing. Fails where an event could not be stored, as on
 * a full disk. The tables must exist.
 */
export function forceSync(tx: Transaction): void {
  tx.run(
    "insert into esim_webhooks_migration (number, id, oldest, version, applied_at) values (0, '', 0, '', 0)",
  );
  tx.run("delete from esim_webhooks_migration where number = 0");
}

/**
 * Syncs what is in the file before anything is answered from it. A process that was killed between its write and its sync has
 * left rows that can be read and that a power cut would remove: a redelivery would be answered as a duplicate of them.
 * The tables must exist.
 */
export function syncRecovered(connection: Connection, { mode }: Pick<Journal, "mode">): void {
  if (mode === "wal") syncLog(connection);
  else inTransaction(connection, forceSync);
}

/** Syncs the log by a checkpoint, which does so before it writes anything back. A passive one takes no lock that a writer holds. */
function syncLog(connection: Connection): void {
  waitUntil(() => !isCheckpointedByAnother(connection));
}

function isCheckpointedByAnother(connection: Connection): boolean {
  try {
    return pragma(connection, "wal_checkpoint(passive)") === 1;
  } catch (error) {
    if (!isFull(error)) throw error; // the log is synced by then, and the file can still be read
    return false;
  }
}
