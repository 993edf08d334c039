import { parseOptions } from "@esim-webhooks/core/kit";
import { type EmbeddedOptions, embeddedShape, openEmbedded } from "./database/embedded-database.ts";
import { createSqlStore, type TransactionalStore } from "./sql-store.ts";

/**
 * The Postgres store on PGlite, within this process: for development, tests and a single process. Needs the package
 * `@electric-sql/pglite`. It has one connection, so transactional handlers run one after another. What it has answered
 * outlives the process, killed or not, if there is a `dataDir`; not the machine, since PGlite does not sync to the disk.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, or `folder_in_use` while another process has it.
 */
export function embeddedStore<Database = unknown>(
  options: EmbeddedOptions = {},
): TransactionalStore<Database> {
  const settings = parseOptions("embeddedStore", embeddedShape, options);
  const { close, ...open } = openEmbedded<Database>("embeddedStore", settings);
  return {
    ...createSqlStore(open, settings.retentionMs),
    capabilities: {
      durable: settings.dataDir !== undefined,
      multiProcess: false,
      transactional: true,
      retentionMs: settings.retentionMs,
    },
    close,
  };
}
