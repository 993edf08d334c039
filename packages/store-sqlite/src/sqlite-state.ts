import type { StateStore } from "@esim-webhooks/core";
import { checkStateName, encodeState, parseOptions } from "@esim-webhooks/core/engine";
import { openSqlite } from "./open-sqlite.ts";
import { type SqliteFileOptions, sqliteFileShape } from "./sqlite-options.ts";

/**
 * Small durable states in an SQLite file, which may be that of a store or an inbox.
 *
 * Throws `invalid_option` or `thread_missing`; operations reject with `invalid_input`, `store_unavailable`, `store_full`, or a code of
 * `SqliteErrorCode`.
 */
export function sqliteState(options: SqliteFileOptions): StateStore {
  const settings = parseOptions("sqliteState", sqliteFileShape, options);
  const open = openSqlite("sqliteState", settings);
  return {
    capabilities: { durable: settings.durability === "full", multiProcess: true },
    place: `the file ${settings.path}`,
    ready: open.ready,
    migrate: open.migrate,
    async read(name) {
      checkStateName(name);
      const row = await open.inReader("readState", { name });
      return row && { value: JSON.parse(row.value) as unknown, version: row.version };
    },
    async write(name, value, version) {
      checkStateName(name);
      return open.inWriter("writeState", { name, value: encodeState(value), version });
    },
    close: open.close,
  };
}
