/** Stable codes of the errors that these stores throw, besides those of core. */
export type SqliteErrorCode =
  /** The file is damaged, or is no SQLite database. */
  | "database_corrupt"
  /** The file or its log was removed or replaced while it was open. */
  | "database_moved"
  /** The file was written by a newer version of this package. */
  | "database_newer"
  /** The file or its folder cannot be written by this process. */
  | "database_read_only"
  /** The file is on another machine's disk. */
  | "network_mount"
  /** This Node.js has no SQLite. */
  | "node_too_old"
  /** The folder is one that PGlite left. */
  | "pglite_folder"
  /** The tables are not those of this version: an unreleased or unknown one has made them. */
  | "schema_mismatch"
  /** A bundler has left out the code of the thread that has the database. */
  | "thread_missing"
  /** This SQLite must not use a write-ahead log, and another process is using one on the file. */
  | "wal_in_use";

/** What a fault can be told as: of these stores, or of core. */
export type FaultCode = SqliteErrorCode | "invalid_option" | "store_full" | "store_unavailable";

/** What went wrong, as it crosses from the database's thread: the two halves of a message, and SQLite's own words. */
export interface Fault {
  readonly code: FaultCode;
  readonly problem: string;
  readonly remedy: string;
  readonly cause?: string;
}

/** A fault as it is thrown on either side. */
export class FaultError extends Error {
  override readonly name = "FaultError";
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(`${fault.problem} ${fault.remedy}`);
    this.fault = fault;
  }
}
