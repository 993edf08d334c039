/** Stable codes of the errors that these stores throw, in addition to those of core. */
export type SqliteErrorCode =
  /** The file is damaged, or is no SQLite database. */
  | "database_corrupt"
  /** The file or its log was removed or replaced while it was open. */
  | "database_moved"
  /** A newer version of this package has changed the tables, and this one cannot work with them. */
  | "database_newer"
  /** The file or its folder cannot be written by this process. Give its user the right to write both, or name another path. */
  | "database_read_only"
  /** The file is on another machine's disk. */
  | "network_mount"
  /** This Node.js has no SQLite. */
  | "node_too_old"
  /** The tables are not those of this version: an unreleased or unknown one has made them. */
  | "schema_mismatch"
  /** A bundler has left out the code of the thread that has the database. */
  | "thread_missing"
  /** This SQLite must not use a write-ahead log, and another process is using one on the file. */
  | "wal_in_use";

/** The codes of faults: of these stores, or of core. */
export type FaultCode = SqliteErrorCode | "invalid_option" | "store_full" | "store_unavailable";

/** A failure, as it crosses from the database's thread: the two halves of a message, and SQLite's own words. */
export interface Fault {
  readonly code: FaultCode;
  readonly problem: string;
  readonly remedy: string;
  readonly cause?: string;
}

/** A fault as it is thrown, in the database's thread or in the main thread. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(`${fault.problem} ${fault.remedy}`);
    this.fault = fault;
  }
}

/** Primary result codes of SQLite (sqlite.org/rescode.html), as far as they say something about the file or its disk. */
const resultCodes = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  notADatabase: 26,
} as const;

const extendedCodes = {
  /** The database file is no longer at its path. SQLite itself checks that only where it writes no log. */
  moved: resultCodes.readOnly | (4 << 8),
  /** The index of the log cannot grow: the disk is full. */
  indexSize: resultCodes.ioError | (19 << 8),
} as const;

const aboutTheFile: ReadonlySet<number> = new Set(Object.values(resultCodes));

/** The primary result code of an error of `node:sqlite`; undefined for every other error. */
function resultCodeOf(error: unknown): number | undefined {
  const { code, errcode } = (error ?? {}) as { code?: unknown; errcode?: unknown };
  return code === "ERR_SQLITE_ERROR" && typeof errcode === "number" ? errcode & 0xff : undefined;
}

/** Whether another connection holds the lock: to try again may help. */
export function isBusy(error: unknown): boolean {
  const code = resultCodeOf(error);
  return code === resultCodes.busy || code === resultCodes.locked || code === resultCodes.protocol;
}

/** Whether SQLite reports that the disk is full. */
export function isFull(error: unknown): boolean {
  return resultCodeOf(error) === resultCodes.full;
}

/** Whether a file could not be written or made. */
export function isOfRoom(error: unknown): boolean {
  const code = resultCodeOf(error);
  return code === resultCodes.full || code === resultCodes.readOnly || code === resultCodes.cannotOpen;
}

/** Whether the error is about the file, its lock or its disk. Every other error is about one statement, and other statements may succeed. */
export function isOfTheFile(error: unknown): boolean {
  return error instanceof FaultError || aboutTheFile.has(resultCodeOf(error) ?? -1);
}

/** The meaning of an error of `node:sqlite` or of the file system for the database at `path`. */
export function faultOf(error: unknown, path: string): Fault {
  if (error instanceof FaultError) return error.fault;
  const cause = error instanceof Error ? error.message : String(error);
  switch ((error as { errcode?: unknown } | null)?.errcode) {
    case extendedCodes.moved:
      return { ...moved(path), cause };
    case extendedCodes.indexSize:
      return full(path, cause);
  }
  switch (resultCodeOf(error)) {
    case resultCodes.busy:
    case resultCodes.locked:
    case resultCodes.protocol:
      return {
        code: "store_unavailable",
        problem: `Another process has kept ${path} locked for too long.`,
        remedy: "Find out which one holds a transaction open, such as a shell of sqlite3.",
        cause,
      };
    case resultCodes.full:
      return full(path, cause);
    case resultCodes.readOnly:
    case resultCodes.cannotOpen:
      return readOnly(path, cause);
    case resultCodes.corrupt:
    case resultCodes.notADatabase:
      return {
        code: "database_corrupt",
        problem: `The file ${path} is damaged, or is no SQLite database.`,
        remedy:
          "Check the path. If it is right, keep a copy, and restore a backup or try sqlite3's .recover.",
        cause,
      };
  }
  const code = (error as { code?: unknown } | null)?.code;
  if (code === "ENOSPC" || code === "EDQUOT") return full(path, cause);
  if (code === "EACCES" || code === "EPERM" || code === "EROFS") return readOnly(path, cause);
  if (code === "ENOENT" || code === "ENOTDIR") return noFolder(path, cause);
  return {
    code: "store_unavailable",
    problem: `The database ${path} did not do what it was asked.`,
    remedy: "See the error's cause.",
    cause,
  };
}

function full(path: string, cause: string): Fault {
  return {
    code: "store_full",
    problem: `There is no room left for ${path}: nothing new can be stored, and what was acknowledged is untouched.`,
    remedy: "Free space on its disk, or raise the quota.",
    cause,
  };
}

/** `file`: the database, or a file of SQLite next to it. */
export function moved(file: string): Fault {
  return {
    code: "database_moved",
    problem: `The file ${file} was removed or replaced while this process had it open, so nothing can be stored.`,
    remedy:
      "Put it back. Or stop every process that uses it, with SIGTERM and not with SIGKILL, and start them again.",
  };
}

/** For a process that opens the database while another one has it open with a log that was removed. */
export function lostLog(database: string): Fault {
  return {
    code: "database_moved",
    problem: `Another process has ${database} open, and its -wal or -shm file was removed.`,
    remedy:
      "Stop that process with SIGTERM, and not with SIGKILL: when it ends, it writes what it stored into the database. Then start this one again.",
  };
}

/** For a process that opens a database which is missing or empty, next to its log. */
export function loneLog(database: string): Fault {
  return {
    code: "database_moved",
    problem: `The file ${database} is missing or empty, but its log is there, with the events that were stored last.`,
    remedy: `Put the file back. If it is gone for good, stop every process that uses it, remove ${database}-wal and ${database}-shm, and start them again.`,
  };
}

/** As `moved`, where another database is at the path, next to the log of the old one. */
export function replaced(database: string): Fault {
  return {
    code: "database_moved",
    problem: `Another file is now at ${database}, next to the log of the one that this process has open, so nothing can be stored.`,
    remedy: `Stop every process that uses it, remove ${database}-wal and ${database}-shm, and start them again. The old log would corrupt the new file.`,
  };
}

/** A row that was inserted is absent, so nothing may be acknowledged for it. */
export const discarded: Fault = {
  code: "schema_mismatch",
  problem: "The table esim_webhooks_event has discarded an event that was inserted.",
  remedy: "Remove the trigger on it that does this. The event is stored with its next delivery.",
};

function noFolder(path: string, cause: string): Fault {
  return {
    code: "database_read_only",
    problem: `The folder of ${path} cannot be made.`,
    remedy: "Name a path at which this process can make files.",
    cause,
  };
}

function readOnly(path: string, cause: string): Fault {
  return {
    code: "database_read_only",
    problem: `This process cannot write ${path} or the folder it is in.`,
    remedy: "Give its user the right to write both: SQLite keeps files of its own next to the database.",
    cause,
  };
}
