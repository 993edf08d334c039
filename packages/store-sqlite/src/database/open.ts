import { existsSync } from "node:fs";
import { type Connection, connect, fileOf, pragma } from "./connection.ts";
import { FaultError, isBusy, lostLog } from "./faults.ts";
import { type HeldFiles, holdFiles } from "./held-files.ts";
import { type Durability, type Journal, setUpJournal, sqliteVersionOf, waitUntil } from "./journal.ts";
import { appliedMigrations, migrate, migrations } from "./migrations.ts";
import { syncRecovered } from "./sync.ts";

export interface OpenOptions {
  readonly path: string;
  readonly durability: Durability;
  /** How long to wait for another process's lock, in ms. */
  readonly busyMs: number;
}

/** Opens the connection that writes: a process has one for each file. The file must exist, and may be empty. */
export function openWriter(
  options: OpenOptions,
): Connection & { readonly journal: Journal; readonly files: HeldFiles } {
  const { path, durability } = options;
  const connection = openConnection(options);
  try {
    const files = holdFiles(fileOf(connection));
    if (pragma(connection, "page_count") === 0) connection.exec("pragma auto_vacuum = incremental"); // before anything is in it
    const journal = setUpJournal(connection, { path, durability }, sqliteVersionOf(connection));
    connection.exec("pragma secure_delete = on"); // what is freed is overwritten, so that erasing leaves nothing of it
    connection.exec("pragma cache_size = -32768"); // KiB
    // 12,288 pages are 48 MiB: checkpoints are rare, since each one syncs the database file; a page that has changed often is written there once
    connection.exec("pragma wal_autocheckpoint = 12288");
    migrate(connection, path); // the first read opens the log
    if (journal.mode === "wal") files.holdLog();
    syncRecovered(connection, journal);
    return { ...connection, journal, files };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A connection for reads, which may take long: with a log, the writer does not wait for it. It is opened for writing, since the process that
 * opens the file first after a kill must roll back what was left, but it changes no data.
 */
export function openReader(options: OpenOptions): Connection {
  const connection = openConnection(options);
  connection.exec("pragma query_only = on");
  return connection;
}

/** A connection that reads a file as it is: nothing is migrated, and the tables may be of another version, or not ours. */
export function openAsItIs(options: OpenOptions): Connection {
  const connection = openReader(options);
  try {
    connection.get("select 1 from sqlite_schema"); // refuses a file that is no database
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** As `openAsItIs`, but refuses a file that does not have the tables of this version. */
export function openSource(options: OpenOptions): Connection {
  const connection = openAsItIs(options);
  try {
    if (appliedMigrations(connection, options.path) === migrations.length) return connection;
    throw new FaultError({
      code: "invalid_option",
      problem: `The database ${options.path} does not have the tables of this version.`,
      remedy:
        "Check the path: name the file that your store or inbox was given. If it is of an earlier version, run esim-webhooks migrate first.",
    });
  } catch (error) {
    connection.close();
    throw error;
  }
}

function openConnection({ path, busyMs }: OpenOptions): Connection {
  const connection = connect(path, { busyMs });
  try {
    refuseLostLog(fileOf(connection));
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Refuses a file that another process has open and whose log was removed. SQLite would begin a second log, and one of the two would
 * be lost. A process that opens the file makes the log a moment after it has locked the file, so this function waits for the log.
 */
function refuseLostLog(database: string): void {
  const hasLog = () => existsSync(`${database}-wal`) && existsSync(`${database}-shm`);
  if (!waitUntil(() => hasLog() || !isInUse(database))) throw new FaultError(lostLog(database));
}

/** Whether another connection has the file open with a log. SQLite keeps a file locked for as long as it uses a log of it. */
function isInUse(database: string): boolean {
  const probe = connect(database, { busyMs: 0 });
  try {
    probe.exec("pragma checkpoint_fullfsync = on; pragma locking_mode = exclusive");
    probe.get("select 1 from sqlite_schema");
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    throw error;
  } finally {
    probe.close();
  }
}
