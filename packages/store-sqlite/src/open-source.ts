import { createStoreGuard } from "@esim-webhooks/core/kit";
import { rethrow } from "./open-sqlite.ts";
import type { InputOf, OutputOf, Reads } from "./sql/operations.ts";
import type { SqliteFileSettings } from "./sqlite-options.ts";
import { createSourceDatabase } from "./thread/source-database.ts";
import { requireThread } from "./thread/thread.ts";

/** A file to be copied. Everything rejects with a `WebhookError` only. */
export interface OpenSource {
  /** Rejects with `invalid_option` when the file is not there, or is no source. */
  ready(): Promise<void>;
  read<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** For what takes long: no timeout, and a connection of its own, so that other questions are answered meanwhile. */
  readApart<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  close(): Promise<void>;
}

/** A `source` must hold our tables, a `backup` need not. Opens nothing yet: the first question does, or `ready()`. */
export function openSource(
  caller: string,
  role: "source" | "backup",
  settings: SqliteFileSettings,
): OpenSource {
  requireThread(caller);
  const { timeoutMs, logger } = settings;
  const database = createSourceDatabase(role, { ...settings, busyMs: () => timeoutMs });
  const guard = createStoreGuard({
    name: caller,
    timeoutMs,
    logger,
    backend: "file",
    check: () => database.open().catch(rethrow),
  });
  return {
    ready: () => guard.run(async () => {}),
    read: (name, input) => guard.run(() => database.read(name, input).catch(rethrow)),
    async readApart(name, input) {
      await guard.ready();
      return guard.runUnchecked(() => database.readApart(name, input).catch(rethrow));
    },
    close: () => guard.close(database.close),
  };
}
