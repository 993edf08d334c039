import type { StoreGuard } from "@esim-webhooks/core/kit";
import type { Kysely } from "kysely";
import { createHandle, withHandle } from "./connection-handle.ts";
import { withoutPlugins } from "./without-plugins.ts";

/** Runs one operation on a connection of its own. */
export type RunOn = <T>(operation: (connection: Kysely<unknown>) => Promise<T>) => Promise<T>;

/**
 * Returns a function that runs one operation on one connection, without the user's plugins. It does not start an operation
 * whose timeout has passed, and at the timeout it cuts the connection, so that the pool can open a new one.
 */
export function runOn<Database>(db: Kysely<Database>, guard: StoreGuard): RunOn {
  const ours = withoutPlugins(db);
  return (operation) =>
    guard.run((signal) => {
      const handle = createHandle();
      return withHandle(handle, () =>
        ours.connection().execute((connection) => {
          signal.throwIfAborted();
          signal.addEventListener("abort", handle.cut);
          return operation(connection);
        }),
      );
    });
}
