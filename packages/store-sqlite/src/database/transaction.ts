import type { Connection } from "./connection.ts";

/** A connection within a transaction, and the time that everything in it uses. */
export interface Transaction extends Connection {
  /** The machine's clock as SQLite reads it, in ms since the Unix epoch, taken once the lock was held. */
  readonly nowMs: number;
}

/** Runs `work` in a transaction, and returns once that is committed. If `work` or the commit fails, all is undone, and the error is thrown. */
export function inTransaction<Result>(connection: Connection, work: (tx: Transaction) => Result): Result {
  connection.run("begin immediate"); // takes the lock now: a read that became a write could not wait for it
  try {
    const result = work({ ...connection, nowMs: nowMs(connection) });
    connection.run("commit");
    return result;
  } catch (error) {
    undo(connection, "rollback");
    throw error;
  }
}

/** Thrown after a statement failed and so ended the whole transaction, with all that was done in it. `cause` is the statement's error. */
export class TransactionEnded extends Error {
  override readonly name = "TransactionEnded";
}

/**
 * Runs `work` as a part of a transaction. If `work` throws, only this part is undone, and its error is thrown. Throws
 * `TransactionEnded` if SQLite has rolled back the whole transaction, as it does for `insert or rollback`.
 */
export function inSavepoint<Result>(connection: Connection, work: () => Result): Result {
  connection.run("savepoint esim_webhooks");
  try {
    const result = work();
    connection.run("release esim_webhooks");
    return result;
  } catch (error) {
    if (!undo(connection, "rollback to esim_webhooks")) throw new TransactionEnded("", { cause: error });
    undo(connection, "release esim_webhooks");
    throw error;
  }
}

export function nowMs(connection: Connection): number {
  return (
    connection.get<{ now: number }>("select cast(unixepoch('subsec') * 1000 as integer) as now")?.now ?? 0
  );
}

/** Runs a statement after a failure. False where SQLite has rolled back by itself, as after a full disk; the first error is the one to report then. */
function undo(connection: Connection, statement: string): boolean {
  try {
    connection.run(statement);
    return true;
  } catch {
    return false;
  }
}
