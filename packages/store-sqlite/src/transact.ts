import { type Transacted, WebhookError } from "@esim-webhooks/core";
import type { OpenSqlite } from "./open-sqlite.ts";
import type { HandlerWrite, Mark } from "./sql/handler-statements.ts";
import { headOf, readStatement } from "./statement.ts";

/** A value of a column. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** A statement, with a `?` for each of its parameters. */
export interface SqliteStatement {
  /** SQL without values in it. */
  readonly sql: string;
  /** The values, in the order of the `?`. Default: none. */
  readonly parameters?: readonly SqliteValue[];
}

/**
 * The value that a handler gets as `context.tx`. Its writes are applied together with the mark that the event is done, in the order
 * they were made, or not at all; nothing is locked before that, even if the handler takes long.
 */
export interface SqliteTransaction {
  /**
   * Adds an INSERT, UPDATE, DELETE or REPLACE to what is written when the handler has returned. A statement that breaks a
   * constraint, or changes another number of rows than `changes`, is a failure of the handler, and the event is tried again.
   */
  write(statement: SqliteStatement, expected?: { readonly changes?: number }): void;
  /**
   * Resolves to the committed rows of a SELECT, without the writes of this handler. An integer beyond ±2^53, which a number cannot
   * hold exactly, is a bigint.
   */
  read<Row = Readonly<Record<string, SqliteValue>>>(
    sql: string,
    parameters?: readonly SqliteValue[],
  ): Promise<readonly Row[]>;
}

/** Runs `work`. If it has written something and resolves to true, applies what it wrote together with `mark`. */
export async function transact(
  { inWriter, inReader }: Pick<OpenSqlite, "inWriter" | "inReader">,
  mark: Mark,
  work: (tx: SqliteTransaction) => Promise<boolean>,
): Promise<Transacted> {
  const writes: HandlerWrite[] = [];
  let isOver = false;
  const tx: SqliteTransaction = {
    write({ sql, parameters = [] }, { changes } = {}) {
      refuseLate(isOver);
      refuseOtherThan(writing, sql, "write()");
      refuseOurTables(sql);
      checkCount(changes);
      writes.push({ sql, head: headOf(sql), parameters: parameters.map(checkedValue), changes });
    },
    async read<Row>(sql: string, parameters: readonly SqliteValue[] = []) {
      refuseLate(isOver);
      refuseOtherThan(reading, sql, "read()");
      const answer = await inReader("read", { sql, parameters: parameters.map(checkedValue) });
      if ("rows" in answer) return answer.rows as readonly Row[];
      throw sqliteError(answer);
    },
  };
  const isWanted = await work(tx).finally(() => {
    isOver = true;
  });
  if (writes.length === 0) return "unused";
  if (!isWanted) return "rolled_back";
  const applied = await inWriter("apply", { mark, writes });
  if (applied.status === "refused") throw sqliteError(applied);
  return applied.status;
}

const writing: readonly string[] = ["insert", "update", "delete", "replace"];
const reading: readonly string[] = ["select", "values"];

/** Refuses all but one statement with an allowed verb. A COMMIT or PRAGMA of one handler would affect what others write in the same transaction. */
function refuseOtherThan(allowed: readonly string[], sql: string, where: string): void {
  if (typeof sql !== "string") {
    throw new WebhookError(
      "invalid_input",
      `context.tx.${where} was given no SQL: ${typeof sql}.`,
      "Give it the text of a statement.",
    );
  }
  const { verb, hasMore } = readStatement(sql);
  if (!allowed.includes(verb)) {
    throw new WebhookError(
      "invalid_input",
      `context.tx.${where} was given a statement that it does not run: ${headOf(sql)}`,
      "write() takes INSERT, UPDATE, DELETE and REPLACE, read() takes SELECT; make tables before you start.",
    );
  }
  if (!hasMore) return; // SQLite would run only the first of several statements, and silently ignore the others
  throw new WebhookError(
    "invalid_input",
    `context.tx.${where} was given more than one statement in one text: ${headOf(sql)}`,
    "Make one call for each statement.",
  );
}

/** Refuses writes to the tables of this package, except that of `latestOnly`, which handlers write. */
function refuseOurTables(sql: string): void {
  const table = readStatement(sql).table?.toLowerCase();
  if (!table?.startsWith("esim_webhooks_") || table === "esim_webhooks_latest") return;
  throw new WebhookError(
    "invalid_input",
    `context.tx.write() was given a statement that changes the table ${table} of this package.`,
    "Write to your own tables.",
  );
}

function checkCount(changes: number | undefined): void {
  if (changes === undefined || (Number.isSafeInteger(changes) && changes >= 0)) return;
  throw new WebhookError(
    "invalid_input",
    "context.tx.write() was given `changes` that is no number of rows.",
    "Make it a whole number from 0, or leave it out.",
  );
}

function refuseLate(isOver: boolean): void {
  if (!isOver) return;
  throw new WebhookError(
    "invalid_input",
    "context.tx was used after its handler had returned.",
    "Await everything before returning.",
  );
}

const plainTypes: readonly string[] = ["number", "bigint", "string"];

/** Returns a value that can cross to the other thread. Bytes are copied: they may be a slice of a larger buffer, all of which would be sent. */
function checkedValue(value: SqliteValue): SqliteValue {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value === null || plainTypes.includes(typeof value)) return value;
  throw new WebhookError(
    "invalid_input",
    `context.tx was given a parameter that SQLite cannot keep: ${typeof value}.`,
    "Make it null, a number, a bigint, a string or bytes.",
  );
}

/** Returns an error like that of `node:sqlite`, to be thrown in the handler: the failure is the handler's, and not the store's. */
function sqliteError({ message, errcode }: { message: string; errcode: number | undefined }): Error {
  return Object.assign(new Error(message), errcode !== undefined && { code: "ERR_SQLITE_ERROR", errcode });
}
