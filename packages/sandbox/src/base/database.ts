import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { sandboxClosed } from "./refused.ts";
import { schema, schemaVersion } from "./schema.ts";

/** The stored state. Each statement is prepared once. All methods are synchronous, so no other code runs between two calls without an `await`. */
export interface Database {
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined;
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
  /** Returns how many rows the statement changed. */
  run(sql: string, ...values: SQLInputValue[]): number;
  /** Runs `work` so that all of it is kept, or, if it throws, nothing. Within another transaction it is a part of that one. */
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

/**
 * Opens the file, which no other process can then use, and makes its tables if it is new. Without a path everything is kept in memory.
 * Throws the error of SQLite, or an error if another version of the sandbox wrote the file.
 */
export function openDatabase(path = ":memory:"): Database {
  // not imported: where the module is missing, `startSandbox` says so
  const database = new (process.getBuiltinModule("node:sqlite").DatabaseSync)(path);
  try {
    prepare(database, path);
  } catch (error) {
    database.close();
    throw error;
  }

  const statements = new Map<string, StatementSync>();
  function prepared(sql: string): StatementSync {
    if (!database.isOpen) throw sandboxClosed();
    const statement = statements.get(sql) ?? database.prepare(sql);
    statements.set(sql, statement);
    return statement;
  }

  return {
    get: <Row>(sql: string, ...values: SQLInputValue[]) => prepared(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: SQLInputValue[]) => prepared(sql).all(...values) as Row[],
    run: (sql, ...values) => Number(prepared(sql).run(...values).changes),
    transaction(work) {
      const begin = prepared("begin immediate"); // first: it throws if the database is closed; the next line needs an open database
      if (database.isTransaction) return work();
      begin.run();
      try {
        const result = work();
        prepared("commit").run();
        return result;
      } catch (error) {
        if (database.isOpen && database.isTransaction) prepared("rollback").run(); // some errors make SQLite itself roll back
        throw error;
      }
    },
    close: () => database.close(),
  };
}

// exclusive: two processes that send the same deliveries would send each of them twice
// large pages: in memory, SQLite slows down with their number; among 300,000 deliveries a write took seven times as long with 4 KiB
const pragmas =
  "pragma page_size = 16384; pragma locking_mode = exclusive; pragma journal_mode = wal; pragma synchronous = normal; " +
  "pragma foreign_keys = on";

function prepare(database: DatabaseSync, path: string): void {
  database.exec(pragmas);
  const { user_version: version } = database.prepare("pragma user_version").get() as { user_version: number };
  if (version === 0) database.exec(`begin; ${schema}; pragma user_version = ${schemaVersion}; commit`);
  else if (version !== schemaVersion)
    throw new Error(`The sandbox of another version wrote ${path}. Name another folder, or delete the file.`);
}
