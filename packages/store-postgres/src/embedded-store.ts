import { resolve } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  type OptionsShape,
  parseOptions,
  type StoreOptions,
  steadyClock,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/store";
import { Kysely, PGliteDialect, type RawBuilder, sql } from "kysely";
import { z } from "zod";
import { lockFolder } from "./folder-lock.ts";
import { migrate } from "./migrations.ts";
import { createSqlStore, type TransactionalStore } from "./sql-store.ts";
import { tablesIn } from "./tables.ts";

export interface EmbeddedStoreOptions extends StoreOptions {
  /** The folder to keep the data in. Default: none, in memory. */
  dataDir?: string | undefined;
}

const shape: OptionsShape<Required<StoreOptions> & { dataDir?: string | undefined }> = {
  ...storeShape,
  dataDir: z.string().min(1).optional(),
};

/** Opening it compiles Postgres and may recover from a crash. */
const timeoutMs = 30_000;

/**
 * The Postgres store on PGlite, within this process: for development, tests and a single process. Needs the package
 * `@electric-sql/pglite`. It has one connection, so transactional handlers run one after another. What it has answered
 * outlives the process, killed or not, if there is a `dataDir`; not the machine, since PGlite does not sync to the disk.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, or `folder_in_use` while another process has it.
 */
export function embeddedStore<Database = unknown>(
  options: EmbeddedStoreOptions = {},
): TransactionalStore<Database> {
  const settings = parseOptions("embeddedStore", shape, options);
  const { retentionMs, logger } = settings;
  warnOfShortRetention("embeddedStore", settings);
  const dataDir = settings.dataDir && resolve(settings.dataDir);
  const tables = tablesIn("esim_webhooks", steadyTime);
  const db = new Kysely<Database>({ dialect: new PGliteDialect({ pglite: () => openPGlite(dataDir) }) });
  let unlock: (() => Promise<void>) | undefined;

  const guard = createStoreGuard({
    name: "embeddedStore",
    timeoutMs,
    logger,
    check: async () => {
      if (dataDir !== undefined) unlock ??= await lockFolder(dataDir);
      await migrate(db as Kysely<unknown>, tables);
    },
  });
  return {
    ...createSqlStore(db, { guard, tables, retentionMs }),
    capabilities: { durable: dataDir !== undefined, multiProcess: false, transactional: true },
    close: () =>
      guard.close(async () => {
        await db.destroy();
        await unlock?.();
      }),
  };
}

/** PGlite's own clock is this process's, which jumps when the machine's time is set. */
function steadyTime(): RawBuilder<Date> {
  return sql`to_timestamp(${steadyClock.now() / 1000}::float8)`;
}

async function openPGlite(dataDir: string | undefined) {
  const { PGlite } = await import("@electric-sql/pglite").catch((cause: unknown) => {
    throw new WebhookError(
      "invalid_option",
      "embeddedStore needs PGlite, which is not installed.",
      "Run npm install @electric-sql/pglite.",
      { cause },
    );
  });
  return PGlite.create(dataDir === undefined ? {} : { dataDir });
}
