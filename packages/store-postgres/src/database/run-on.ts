import type { StoreGuard } from "@esim-webhooks/core/kit";
import type { Kysely } from "kysely";
import { createHandle, withHandle } from "./connection-handle.ts";
import { withoutPlugins } from "./without-plugins.ts";

/**
 * Runs one operation on one connection, free of the user's plugins. None is begun once nobody waits for it, and one
 * whose server does not answer in time has its connection cut, so that the pool gets its place back.
 */
export function runOn<Database>(
  db: Kysely<Database>,
  guard: StoreGuard,
): <T>(operation: (connection: Kysely<unknown>) => Promise<T>) => Promise<T> {
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
