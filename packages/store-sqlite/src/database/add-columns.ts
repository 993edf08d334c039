import { type Connection, connect, pragma } from "./connection.ts";

const statement = /^alter table (\w+) add column \w+ (?:text|integer|real|blob);$/gm;

/**
 * Runs SQL. A line that only adds a column is not executed: only the text of the schema is changed, where Node.js permits it. On a strict
 * table, SQLite would check all rows for each new column, and lock a file of a million events for most of a second per column. No row needs to be checked or changed:
 * the columns have neither a default nor a constraint. SQLite itself makes the new text of the schema, from an empty table.
 */
export function execAddingColumns(connection: Connection, sql: string): void {
  const added = Array.from(sql.matchAll(statement), ([line, table = ""]) => ({ line, table }));
  const byTable = Map.groupBy(added, ({ table }) => table);
  for (const [table, lines] of byTable)
    addColumns(connection, table, lines.map(({ line }) => line).join("\n"));
  connection.exec(sql.replaceAll(statement, ""));
}

function addColumns(connection: Connection, table: string, alterations: string): void {
  connection.writingSchema((isAllowed) => {
    if (!isAllowed) return connection.exec(alterations);
    const version = Number(pragma(connection, "schema_version"));
    connection.run(
      "update sqlite_schema set sql = ? where type = 'table' and name = ?",
      ...[schemaAfter(schemaOf(connection, table), table, alterations), table],
    );
    connection.exec(`pragma schema_version = ${version + 1}`); // other connections read the schema again
  });
}

/** The text of a table's schema after its alterations. */
function schemaAfter(schema: string, table: string, alterations: string): string {
  const empty = connect(":memory:", { busyMs: 0 });
  try {
    empty.exec(`${schema}; ${alterations}`);
    return schemaOf(empty, table);
  } finally {
    empty.close();
  }
}

function schemaOf(connection: Connection, table: string): string {
  const sql = "select sql from sqlite_schema where type = 'table' and name = ?";
  return connection.get<{ sql: string }>(sql, table)?.sql ?? "";
}
