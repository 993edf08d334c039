import type { Connection } from "./connection.ts";

/** A connection within a transaction, and the time by which everything in it goes. */
export interface Transaction extends Connection {
  /** The machine's clock as SQLite reads it, in ms since the Unix epoch, taken once the lock was held. */
  readonly nowMs: number;
}

/** Runs `work` in a transaction that is committed, and so on the disk, when it returns. Throws what `work` throws, all undone. */
export function inTransaction<Result>(connection: Connection, work: (tx: Transaction) => Result): Result {
  connection.run("begin immediate"); // the lock at once: a read that became a write could not wait for it
  try {
    const result = work({ ...connection, nowMs: nowMs(connection) });
    connection.run("commit");
    return result;
  } catch (error) {
    undo(connection, "rollback");
    throw error;
  }
}

/** Runs `work` within a transaction so that it can fail by itself: then it alone is undone. */
export function inSavepoint<Result>(connection: Connection, work: () => Result): Result {
  connection.run("savepoint esim_webhooks");
  try {
    const result = work();
    connection.run("release esim_webhooks");
    return result;
  } catch (error) {
    undo(connection, "rollback to esim_webhooks");
    undo(connection, "release esim_webhooks");
    throw error;
  }
}

export function nowMs(connection: Connection): number {
  return (
    connection.get<{ now: number }>("select cast(unixepoch('subsec') * 1000 as integer) as now")?.now ?? 0
  );
}

/** SQLite has rolled back by itself after some errors, a full disk for one; there is nothing to undo then. */
function undo(connection: Connection, statement: string): void {
  try {
    connection.run(statement);
  } catch {
    // the first error is the one to tell
  }
}
