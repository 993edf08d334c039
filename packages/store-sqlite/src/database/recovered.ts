import { changeSomething } from "./change-something.ts";
import { type Connection, pragma } from "./connection.ts";
import { isFull } from "./faults.ts";
import { type Journal, pauseMs, tries, wait } from "./journal.ts";
import { inTransaction } from "./transaction.ts";

/**
 * Syncs what is in the file before anything is answered from it. A process that was killed between its write and its sync has
 * left rows that are there to read, and that a power cut would take away: a redelivery would be answered as a duplicate of them.
 * The tables must be there.
 */
export function syncRecovered(connection: Connection, { mode }: Pick<Journal, "mode">): void {
  if (mode === "wal") syncLog(connection);
  else inTransaction(connection, changeSomething);
}

/** A checkpoint syncs the log before it writes anything back. It takes no lock that a writer holds. */
function syncLog(connection: Connection): void {
  for (let left = tries; left > 0 && isCheckpointedByAnother(connection); left--) wait(pauseMs);
}

function isCheckpointedByAnother(connection: Connection): boolean {
  try {
    return pragma(connection, "wal_checkpoint(passive)") === 1;
  } catch (error) {
    if (!isFull(error)) throw error; // the log is synced by then, and there is still much to be read
    return false;
  }
}
