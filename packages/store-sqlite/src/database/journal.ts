import { type Connection, pragma } from "./connection.ts";
import { FaultError, isBusy } from "./faults.ts";

/** `full`: an answer is given once its write is on the disk. `normal`: a power cut may lose the last moments. */
export type Durability = "full" | "normal";

/** How the file is written. */
export interface Journal {
  readonly sqliteVersion: string;
  /** `wal`: a write-ahead log. `delete`: a slower rollback journal, if the log of this SQLite is not safe or another process prevents a log. */
  readonly mode: "wal" | "delete";
  readonly hasWalResetBug: boolean;
}

const longestIdleLog = 64 * 1024 * 1024; // bytes to which SQLite cuts a longer log file once it begins the log again

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
  const mode = setMode(connection, isAffected ? "delete" : "wal");
  if (isAffected && mode === "wal") throw new FaultError(walInUse(path, sqliteVersion));
  connection.exec(`pragma synchronous = ${synchronous[mode][durability]}`);
  // macOS: fsync alone leaves the data in the drive's cache
  connection.exec("pragma fullfsync = on; pragma checkpoint_fullfsync = on");
  connection.exec(`pragma journal_size_limit = ${longestIdleLog}`);
  return { sqliteVersion, mode, hasWalResetBug: isAffected };
}

/** Without a log, the pragma's `normal` may corrupt the file in a power cut; `extra` also syncs the removal of the rollback journal. */
const synchronous: Readonly<Record<Journal["mode"], Readonly<Record<Durability, string>>>> = {
  wal: { full: "full", normal: "normal" },
  delete: { full: "extra", normal: "full" },
};

/** The version of the SQLite in this Node.js. */
export function sqliteVersionOf(connection: Connection): string {
  return connection.get<{ version: string }>("select sqlite_version() as version")?.version ?? "";
}

/** Refuses a file on which another process has turned the log on meanwhile. For an affected SQLite, within a transaction. */
export function refuseWal(connection: Connection, path: string, { sqliteVersion }: Journal): void {
  if (pragma(connection, "journal_mode") === "wal") throw new FaultError(walInUse(path, sqliteVersion));
}

/** Asks for a mode until the file has it, for two seconds at most. Returns the mode of the file: other processes may prevent the change. */
function setMode(connection: Connection, wanted: "wal" | "delete"): "wal" | "delete" {
  let mode: unknown;
  waitUntil(() => {
    mode = askForMode(connection, wanted);
    return mode === wanted;
  });
  return mode === "wal" ? "wal" : "delete";
}

/**
 * Waits for another process, where the busy timeout has no effect, for two seconds at most. Returns whether the condition was met. Blocks
 * the thread, which has nothing else to do while it opens the file.
 */
export function waitUntil(isMet: () => boolean): boolean {
  const giveUpAt = performance.now() + 2000;
  while (!isMet()) {
    if (performance.now() > giveUpAt) return false;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  return true;
}

function askForMode(connection: Connection, wanted: "wal" | "delete"): unknown {
  try {
    return pragma(connection, `journal_mode = ${wanted}`);
  } catch (error) {
    if (!isBusy(error)) throw error; // the busy timeout has no effect on this pragma
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

/**
 * Whether an SQLite version has the WAL-reset bug: two connections that write and checkpoint a write-ahead log at the same
 * moment can corrupt the file (sqlite.org/wal.html#walresetbug). In 3.7.0 to 3.51.2, except the release lines in which it was fixed.
 */
export function hasWalResetBug(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number);
  if (major !== 3 || minor < 7) return false; // 3.7.0 was the first to have a log
  const fixedAt = { 44: 6, 50: 7, 51: 3 }[minor];
  return fixedAt === undefined ? minor < 51 : patch < fixedAt;
}
