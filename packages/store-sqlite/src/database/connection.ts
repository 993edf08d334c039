import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";

/** Values by name, for each `$name` in the SQL, or in order, for each `?`. Node.js 22 does not bind a numbered `?1`. */
export type Parameters = readonly [Readonly<Record<string, SQLInputValue>>] | readonly SQLInputValue[];

/** A connection to the file. `all`, `get` and `run` run one statement, which is prepared once and kept. */
export interface Connection {
  all<Row>(sql: string, ...parameters: Parameters): Row[];
  get<Row>(sql: string, ...parameters: Parameters): Row | undefined;
  /** Returns how many rows the statement changed. */
  run(sql: string, ...parameters: Parameters): number;
  prepared(sql: string): StatementSync;
  /** Runs any number of statements without parameters, once. */
  exec(sql: string): void;
  /** Runs `work` while the table `sqlite_schema` can be written. `isAllowed` is false where this Node.js does not permit that. */
  writingSchema(work: (isAllowed: boolean) => void): void;
  close(): void;
}

/** The switch of SQLite's defensive mode: newer versions of Node.js have it, and switch the mode on. */
interface Defensive {
  enableDefensive?(isOn: boolean): void;
}

const mostStatements = 200; // the SQL of a handler may contain values, and so differ each time

/** Opens a connection. Throws the errors of `node:sqlite`. */
export function connect(path: string, { busyMs }: { readonly busyMs: number }): Connection {
  const database = new DatabaseSync(path);
  database.exec(`pragma busy_timeout = ${busyMs}`); // like the option `timeout`, which Node.js 22 does not have
  const statements = new Map<string, StatementSync>();

  function prepared(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    if (statements.size >= mostStatements) statements.clear();
    const made = database.prepare(sql);
    statements.set(sql, made);
    return made;
  }

  /** Lets the schema be written. Returns whether that had an effect: in the defensive mode it has none. */
  function allowSchema(): boolean {
    database.exec("pragma writable_schema = on");
    return Object.values(database.prepare("pragma writable_schema").get() ?? {})[0] === 1;
  }

  function writingSchema(work: (isAllowed: boolean) => void): void {
    const { enableDefensive } = database as Defensive;
    const isDefensive = !allowSchema();
    if (isDefensive) enableDefensive?.call(database, false);
    try {
      work(!isDefensive || allowSchema());
    } finally {
      database.exec("pragma writable_schema = reset"); // `reset` also reads the schema again
      if (isDefensive) enableDefensive?.call(database, true);
    }
  }

  return {
    prepared,
    writingSchema,
    all: <Row>(sql: string, ...parameters: Parameters) =>
      prepared(sql).all(...(parameters as SQLInputValue[])) as Row[],
    get: <Row>(sql: string, ...parameters: Parameters) =>
      prepared(sql).get(...(parameters as SQLInputValue[])) as Row | undefined,
    run: (sql, ...parameters) => Number(prepared(sql).run(...(parameters as SQLInputValue[])).changes),
    exec: (sql) => database.exec(sql),
    close: () => database.close(),
  };
}

/** The path of the database file as SQLite spells it: SQLite names `-wal` and `-shm` after this path. */
export function fileOf(connection: Connection): string {
  return connection.get<{ file: string }>("pragma database_list")?.file ?? "";
}

/** Runs a pragma. Returns the first value of its first row. */
export function pragma(connection: Connection, sql: string): unknown {
  return Object.values(connection.prepared(`pragma ${sql}`).get() ?? {})[0];
}
