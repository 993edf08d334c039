import { type Transacted, WebhookError } from "@esim-webhooks/core";
import type { OpenSqlite } from "./open-sqlite.ts";
import type { HandlerWrite, Mark } from "./sql/apply.ts";

/** What a column can hold. */
export type SqliteValue = null | number | bigint | string | Uint8Array;

/** One statement, with a `?` for each of its parameters. */
export interface SqliteStatement {
  readonly sql: string;
  readonly parameters?: readonly SqliteValue[];
}

/**
 * What a handler gets as `context.tx`. Its writes are applied together with the mark that the event is done, in the order
 * they were made, or not at all; nothing is locked before that, however long the handler takes.
 */
export interface SqliteTransaction {
  /**
   * Adds an INSERT, UPDATE, DELETE or REPLACE to what is written when the handler has returned. One that breaks a
   * constraint, or changes another number of rows than `changes`, is a failure of the handler, and the event is tried again.
   */
  write(statement: SqliteStatement, expected?: { readonly changes?: number }): void;
  /** The rows of a SELECT, as committed: not yet what this handler writes. */
  read<Row = Readonly<Record<string, SqliteValue>>>(
    sql: string,
    parameters?: readonly SqliteValue[],
  ): Promise<readonly Row[]>;
}

/** Runs `work`, and applies what it wrote together with `mark` if it says so. */
export async function transact(
  { write, read }: Pick<OpenSqlite, "write" | "read">,
  mark: Mark,
  work: (tx: SqliteTransaction) => Promise<boolean>,
): Promise<Transacted> {
  const writes: HandlerWrite[] = [];
  let isOver = false;
  const tx: SqliteTransaction = {
    write({ sql, parameters = [] }, { changes } = {}) {
      refuseLate(isOver);
      refuseOtherThan(writing, sql, "write()");
      writes.push({ sql, parameters: parameters.map(checkedValue), changes });
    },
    async read<Row>(sql: string, parameters: readonly SqliteValue[] = []) {
      refuseLate(isOver);
      refuseOtherThan(reading, sql, "read()");
      const answer = await read("read", { sql, parameters: parameters.map(checkedValue) });
      if ("rows" in answer) return answer.rows as readonly Row[];
      throw sqliteError(answer);
    },
  };
  const isWanted = await work(tx).finally(() => {
    isOver = true;
  });
  if (writes.length === 0) return "unused";
  if (!isWanted) return "rolled_back";
  const applied = await write("apply", { mark, writes });
  if (applied.status === "refused") throw sqliteError(applied);
  return applied.status;
}

const beforeStatement = String.raw`^(?:\s|--[^\n]*\n|/\*.*?\*/)*`;
const writing = new RegExp(`${beforeStatement}(?:insert|update|delete|replace|with)\\b`, "is");
const reading = new RegExp(`${beforeStatement}(?:select|values|with)\\b`, "is");

/** A COMMIT or PRAGMA of a handler would change what the others write with it. */
function refuseOtherThan(allowed: RegExp, sql: string, where: string): void {
  if (allowed.test(sql)) return;
  throw new WebhookError(
    "invalid_input",
    `context.tx.${where} was given a statement that it does not run: ${sql}`,
    "write() takes INSERT, UPDATE, DELETE and REPLACE, read() takes SELECT; make tables before you start.",
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

/** As it can cross to the other thread. Bytes may be a slice of a larger buffer, all of which would go with them. */
function checkedValue(value: SqliteValue): SqliteValue {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value === null || plainTypes.includes(typeof value)) return value;
  throw new WebhookError(
    "invalid_input",
    `context.tx was given a parameter that SQLite cannot keep: ${typeof value}.`,
    "Make it null, a number, a bigint, a string or bytes.",
  );
}

/** As `node:sqlite` would throw it in the handler: it is the handler's failure, and not the store's. */
function sqliteError({ message, errcode }: { message: string; errcode: number | undefined }): Error {
  return Object.assign(new Error(message), errcode !== undefined && { code: "ERR_SQLITE_ERROR", errcode });
}
