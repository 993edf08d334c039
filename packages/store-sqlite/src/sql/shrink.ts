import type { Transaction } from "../database/transaction.ts";

const mostPages = 256;

/** Gives some of the free pages back to the disk, where the file was made by us; none in one that was not. */
export function shrink(tx: Transaction): void {
  tx.exec(`pragma incremental_vacuum(${mostPages})`);
}
