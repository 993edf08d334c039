import type { StoreGuard } from "@esim-webhooks/core/kit";
import type { Kysely } from "kysely";
import { committed, onConnection, type Work } from "./own-transaction.ts";

/** Commits one operation, on a connection of its own. */
export type RunOn = <T>(operation: Work<T>) => Promise<T>;

/** `db` has none of the user's plugins. */
export function runOn(db: Kysely<unknown>, guard: StoreGuard, timeoutMs: number): RunOn {
  return (operation) =>
    guard.run((signal) => onConnection(db, timeoutMs, signal, (own) => committed(own, operation)));
}
