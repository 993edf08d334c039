import { type Connection, connect, fileOf, pragma } from "./connection.ts";
import { FaultError } from "./errors.ts";
import { type HeldFiles, holdFiles } from "./held-files.ts";
import { type Durability, type Journal, setUpJournal, sqliteVersionOf } from "./journal.ts";
import { appliedMigrations, migrate } from "./migrations.ts";
import { syncRecovered } from "./recovered.ts";

export interface OpenOptions {
  readonly path: string;
  readonly durability: Durability;
  /** How long to wait for another process's lock, in ms. */
  readonly busyMs: number;
}

/** The connection that writes: one a process. The file is there already, and perhaps empty. */
export function openWriter({
  path,
  durability,
  busyMs,
}: OpenOptions): Connection & { readonly journal: Journal; readonly files: HeldFiles } {
  const connection = connect(path, { busyMs });
  try {
    const files = holdFiles(fileOf(connection));
    if (pragma(connection, "page_count") === 0) connection.exec("pragma auto_vacuum = incremental"); // before anything is in it
    const journal = setUpJournal(connection, { path, durability }, sqliteVersionOf(connection));
    connection.exec("pragma cache_size = -32768"); // KiB
    // pages, 48 MiB: each checkpoint syncs the file itself, and writes a page that changed often but once
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
 * A connection for questions, which may take as long as they take: the writer does not wait for it. It could write, since
 * whoever opens the file first after a kill must roll back what was left, but runs no statement that does.
 */
export function openReader({ path, busyMs }: OpenOptions): Connection {
  const connection = connect(path, { busyMs });
  connection.exec("pragma query_only = on");
  return connection;
}

/** A connection for questions to a file that is read as it is: it is not migrated, and its tables may be of another version, or not ours. */
export function openAsItIs(options: OpenOptions): Connection {
  const connection = openReader(options);
  try {
    connection.get("select 1 from sqlite_schema"); // refuses what is no database
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** The same, for a file whose events are to be copied. */
export function openSource(options: OpenOptions): Connection {
  const connection = openAsItIs(options);
  try {
    if (appliedMigrations(connection, options.path) > 0) return connection;
    throw new FaultError({
      code: "invalid_option",
      problem: `The database ${options.path} holds no tables of esim-webhooks.`,
      remedy: "Check the path: name the file that your store or inbox was given.",
    });
  } catch (error) {
    connection.close();
    throw error;
  }
}
