import type { SQLInputValue } from "node:sqlite";
import type { Connection } from "../database/connection.ts";
import { isOfReading, isOfTheFile } from "../database/faults.ts";
import { refuseOthers } from "./apply.ts";

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
    refuseOthers(connection.prepared(sql).sourceSQL, sql);
    return { rows: connection.all<Record<string, unknown>>(sql, ...parameters) };
  } catch (error) {
    if (isOfTheFile(error) && !isOfReading(error)) throw error;
    const { message, errcode } = error as { message: string; errcode?: number };
    return { message, errcode };
  }
}
