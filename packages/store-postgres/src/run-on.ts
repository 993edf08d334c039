import type { StoreGuard } from "@esim-webhooks/core/store";
import type { Kysely } from "kysely";
import { plain } from "./plain.ts";

/** Runs one operation on one connection, free of the user's plugins; none is begun once nobody waits for it. */
export function runOn<Database>(
  db: Kysely<Database>,
  guard: StoreGuard,
): <T>(operation: (connection: Kysely<unknown>) => Promise<T>) => Promise<T> {
  const ours = plain(db);
  return (operation) =>
    guard.run((signal) =>
      ours.connection().execute((connection) => {
        signal.throwIfAborted();
        return operation(connection);
      }),
    );
}
