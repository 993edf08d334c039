import { type Connection, pragma } from "./connection.ts";
import { FaultError } from "./errors.ts";
import { isBusy } from "./faults.ts";
import { hasWalResetBug } from "./wal-reset-bug.ts";

/** `full`: an answer is given once its write is on the disk. `normal`: a power cut may lose the last moments. */
export type Durability = "full" | "normal";

/** How the file is written. */
export interface Journal {
  readonly sqliteVersion: string;
  /** `wal`: a write-ahead log. `delete`: a rollback journal, slower, for an SQLite whose log is not safe. */
  readonly mode: "wal" | "delete";
  readonly hasWalResetBug: boolean;
}

/** How often, and with which pause, another process is waited for where the busy timeout does not count. */
export const tries = 100;
export const pauseMs = 20;
const longestIdleLog = 64 * 1024 * 1024; // bytes that a log keeps on the disk once it was longer

/**
 * Sets up how the file is written: with a write-ahead log where that is safe with this version of SQLite. Two processes of
 * different versions may meet on one file; the one that cannot use the log refuses rather than use it.
 */
export function setUpJournal(
  connection: Connection,
  { path, durability }: { readonly path: string; readonly durability: Durability },
  sqliteVersion: string,
): Journal {
  const isAffected = hasWalResetBug(sqliteVersion);
  const mode = settledMode(connection, isAffected ? "delete" : "wal");
  if (isAffected && mode === "wal") throw new FaultError(walInUse(path, sqliteVersion));
  connection.exec(`pragma synchronous = ${synchronous[mode][durability]}`);
  // macOS: fsync alone leaves the data in the drive's cache
  connection.exec("pragma fullfsync = on; pragma checkpoint_fullfsync = on");
  connection.exec(`pragma journal_size_limit = ${longestIdleLog}`);
  return { sqliteVersion, mode, hasWalResetBug: isAffected };
}

/** Without a log, `normal` may corrupt the file in a power cut; `extra` also syncs that the rollback journal is gone. */
const synchronous: Readonly<Record<Journal["mode"], Readonly<Record<Durability, string>>>> = {
  wal: { full: "full", normal: "normal" },
  delete: { full: "extra", normal: "full" },
};

/** Of the SQLite that this Node.js has. */
export function sqliteVersionOf(connection: Connection): string {
  return connection.get<{ version: string }>("select sqlite_version() as version")?.version ?? "";
}

/** For an affected SQLite, within a transaction: another process may have turned the log on meanwhile. */
export function refuseWal(connection: Connection, path: string, { sqliteVersion }: Journal): void {
  if (pragma(connection, "journal_mode") === "wal") throw new FaultError(walInUse(path, sqliteVersion));
}

/** Asks for a mode until the file has it; what it has in the end, when others keep it from changing. */
function settledMode(connection: Connection, wanted: "wal" | "delete"): "wal" | "delete" {
  for (let left = tries; ; left--) {
    const mode = askedMode(connection, wanted);
    if (mode === wanted || left === 0) return mode === "wal" ? "wal" : "delete";
    wait(pauseMs);
  }
}

/** Stops the thread, which has nothing else to do while it opens the file. */
export function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function askedMode(connection: Connection, wanted: "wal" | "delete"): unknown {
  try {
    return pragma(connection, `journal_mode = ${wanted}`);
  } catch (error) {
    if (!isBusy(error)) throw error; // the busy timeout does not count for this pragma
    return wanted === "wal" ? "delete" : "wal";
  }
}

function walInUse(path: string, version: string) {
  return {
    code: "wal_in_use",
    problem: `Another process uses a write-ahead log on ${path}, and SQLite ${version} of this Node.js can corrupt one.`,
    remedy: "Run every process on a Node.js whose SQLite is 3.51.3 or newer, or stop the others first.",
  } as const;
}
