import type { StoreGuard } from "@esim-webhooks/core/kit";
import type { Kysely, RawBuilder } from "kysely";
import {
  committed,
  committedStatement,
  type OwnConnection,
  onConnection,
  type Work,
} from "./own-transaction.ts";

/** Commits one operation, on a connection of its own. */
export type RunOn = <T>(operation: Work<T>) => Promise<T>;

/** Commits an operation that is one statement, and resolves to its rows. It costs less: our own pool needs one round trip for it. */
export type RunStatement = <Row>(statement: RawBuilder<Row>) => Promise<readonly Row[]>;

/** `db` has none of the user's plugins. */
export function runOn(
  db: Kysely<unknown>,
  guard: StoreGuard,
  timeoutMs: number,
): { readonly run: RunOn; readonly runStatement: RunStatement } {
  const onOne = <T>(work: (own: OwnConnection) => Promise<T>) =>
    guard.run((signal) => onConnection(db, timeoutMs, signal, work));
  return {
    run: (operation) => onOne((own) => committed(own, operation)),
    runStatement: (statement) => onOne((own) => committedStatement(own, statement)),
  };
}
