import type { SQLInputValue } from "node:sqlite";
import type { EventKey, Transacted } from "@esim-webhooks/core";
import type { Connection } from "../database/connection.ts";
import { isOfTheFile } from "../database/faults.ts";
import { inSavepoint, type Transaction, TransactionEnded } from "../database/transaction.ts";
import { completeByFence } from "./claim.ts";
import { type SettleRules, type Settling, settle } from "./settle.ts";

/** A statement of a handler, to be run in the transaction that marks its event as done. */
export interface HandlerWrite {
  readonly sql: string;
  /** Its beginning, for messages: without the values in it. */
  readonly head: string;
  readonly parameters: readonly SQLInputValue[];
  /** How many rows it must change; undefined for any number. */
  readonly changes: number | undefined;
}

/** The done mark: a store completes its claim, an inbox settles its lease. */
export type Mark =
  | { readonly by: "store"; readonly key: EventKey; readonly token: string; readonly retentionMs: number }
  | { readonly by: "inbox"; readonly settling: Settling; readonly rules: SettleRules };

export interface ApplyInput {
  readonly mark: Mark;
  readonly writes: readonly HandlerWrite[];
}

/** The result of a handler's writes. `refused`: a statement failed, and neither the writes nor the mark were applied. */
export type Applied =
  | { readonly status: Exclude<Transacted, "unused"> }
  | { readonly status: "refused"; readonly message: string; readonly errcode: number | undefined };

/** Writes the mark and what the handler wrote, together or not at all, independently of the rest of the transaction. */
export function apply(tx: Transaction, { mark, writes }: ApplyInput): Applied {
  try {
    return inSavepoint(tx, () => {
      if (!writeMark(tx, mark)) return { status: "rolled_back" };
      for (const [index, write] of writes.entries()) runWrite(tx, write, index);
      return { status: "committed" };
    });
  } catch (error) {
    return refused(error);
  }
}

/**
 * Returns why a statement, or a constraint that is checked at the commit, has failed. Throws an error of the file itself, or of the whole
 * transaction, again.
 */
export function refused(error: unknown): Applied {
  if (isOfTheFile(error) || error instanceof TransactionEnded) throw error;
  const { message, errcode } = error as { message: string; errcode?: number };
  return { status: "refused", message, errcode };
}

function writeMark(tx: Transaction, mark: Mark): boolean {
  if (mark.by === "store") return completeByFence(tx, mark);
  const { settling, rules } = mark;
  const [settled = false] = settle(tx, { settlements: [settling], rules });
  return settled;
}

function runWrite(tx: Transaction, { sql, head, parameters, changes }: HandlerWrite, index: number): void {
  const changed = tx.run(sql, ...parameters);
  if (changes === undefined || changed === changes) return;
  throw new Error(
    `Write ${index + 1} of the handler (${head}) changed ${changed} rows instead of ${changes}. ` +
      "Another program may have changed them since they were read: read them again in the next attempt.",
  );
}

export interface ReadInput {
  readonly sql: string;
  readonly parameters: readonly SQLInputValue[];
}

export type ReadRows =
  | { readonly rows: readonly Readonly<Record<string, unknown>>[] }
  | { readonly message: string; readonly errcode: number | undefined };

/** Runs a handler's SELECT: its rows, or why SQLite refused it. */
export function read(connection: Connection, { sql, parameters }: ReadInput): ReadRows {
  try {
    connection.prepared(sql).setReadBigInts(true); // without this, an integer above 2^53 is an error
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
