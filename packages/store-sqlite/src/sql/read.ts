import type { SQLInputValue } from "node:sqlite";
import type { Connection } from "../database/connection.ts";
import { isOfTheFile } from "../database/faults.ts";

export interface ReadInput {
  readonly sql: string;
  readonly parameters: readonly SQLInputValue[];
}

export type ReadRows =
  | { readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly message: string; readonly errcode: number | undefined };

/** A handler's question: its rows, or why SQLite refused it. */
export function read(connection: Connection, { sql, parameters }: ReadInput): ReadRows {
  try {
    connection.prepared(sql).setReadBigInts(true); // as a number, one above 2^53 is an error
    return { rows: connection.all<Record<string, unknown>>(sql, ...parameters).map(withNumbers) };
  } catch (error) {
    if (isOfTheFile(error)) throw error;
    const { message, errcode } = error as { message: string; errcode?: number };
    return { message, errcode };
  }
}

function withNumbers(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, numberOf(value)]));
}

function numberOf(value: unknown): unknown {
  return typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value;
}
