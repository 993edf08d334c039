import { type BigIntStats, existsSync, linkSync, renameSync, rmSync, statSync } from "node:fs";
import { FaultError, faultOf, moved, replaced } from "./faults.ts";

/**
 * The files that a connection has open. If one of them is removed or replaced, SQLite keeps writing to the removed file, and that data is
 * lost. An open file keeps its inode, so another inode at the path is another file.
 */
export interface HeldFiles {
  /** Adds the log and its index, which the connection has just opened. */
  holdLog(): void;
  /**
   * Throws a `FaultError` unless every file is still at its path. Called before a transaction, since another process may use the files
   * that are at the paths now: without a common index of the log, the two processes overwrite each other's events. Called again after
   * the commit, so that no lost event is acknowledged.
   */
  check(): void;
  /** Whether nothing is at the log's path while the database is in place: then a checkpoint saves what only the removed log has. */
  isLogGone(): boolean;
  /** Calls `close`, at which SQLite may remove the file at the log's path. If that file is now the log of another process, it is kept. */
  closeWith(close: () => void): void;
}

interface Held {
  readonly file: string;
  readonly dev: bigint;
  readonly ino: bigint;
}

/** `database`: the file that the connection has just opened. */
export function holdFiles(database: string): HeldFiles {
  const held: Held[] = [hold(database)];

  function statOf(file: string): BigIntStats | undefined {
    try {
      return statSync(file, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      throw new FaultError(faultOf(error, database));
    }
  }

  function hold(file: string): Held {
    const found = statOf(file);
    if (found === undefined) throw new FaultError(moved(file));
    return { file, dev: found.dev, ino: found.ino };
  }

  function isInPlace({ file, dev, ino }: Held): boolean {
    const found = statOf(file);
    return found?.ino === ino && found.dev === dev;
  }

  function check(): void {
    const missing = held.find((each) => !isInPlace(each));
    if (missing !== undefined)
      throw new FaultError(isNextToOldLog() ? replaced(database) : moved(missing.file));
  }

  /** Whether another database is at the path and would be opened with this one's log. For an empty file, it is false: SQLite would delete the log. */
  function isNextToOldLog(): boolean {
    const [own, log] = held;
    const size = statOf(database)?.size ?? 0n;
    return own !== undefined && !isInPlace(own) && size > 0n && log !== undefined && isInPlace(log);
  }

  return {
    holdLog() {
      held.push(hold(`${database}-wal`), hold(`${database}-shm`));
    },
    check,
    isLogGone() {
      const [own, log] = held;
      return own !== undefined && isInPlace(own) && log !== undefined && statOf(log.file) === undefined;
    },
    closeWith(close) {
      const [, log] = held;
      if (log === undefined || isInPlace(log) || !existsSync(log.file)) return close();
      const kept = `${log.file}.kept`;
      linkSync(log.file, kept);
      close();
      if (existsSync(log.file)) rmSync(kept);
      else renameSync(kept, log.file);
    },
  };
}
