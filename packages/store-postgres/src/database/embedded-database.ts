import { resolve } from "node:path";
import { WebhookError } from "@esim-webhooks/core";
import {
  createStoreGuard,
  monotonicClock,
  type OptionsShape,
  type SettingsOf,
  type StoreOptions,
  storeShape,
  warnOfShortRetention,
} from "@esim-webhooks/core/kit";
import { Kysely, PGliteDialect, type RawBuilder, sql } from "kysely";
import * as z from "zod/mini";
import { lockFolder } from "./folder-lock.ts";
import { migrate } from "./migrations.ts";
import type { OpenTables } from "./postgres-database.ts";
import { recover } from "./recover.ts";
import { tablesIn } from "./tables.ts";
import { withoutPlugins } from "./without-plugins.ts";

/** Where an embedded Postgres keeps its data. */
export interface EmbeddedOptions extends StoreOptions {
  /** The folder to keep the data in. Default: none, in memory. */
  dataDir?: string | undefined;
}

export type EmbeddedSettings = SettingsOf<EmbeddedOptions, "dataDir">;

export const embeddedShape: OptionsShape<EmbeddedSettings> = {
  ...storeShape,
  dataDir: z.optional(z.string().check(z.minLength(1))),
};

/** Opening it compiles Postgres and may recover from a crash. */
const timeoutMs = 30_000;

/** Opens the tables in a PGlite within this process, for `name`, and brings them up to date. */
export function openEmbedded<Database>(name: string, settings: EmbeddedSettings): OpenTables<Database> {
  warnOfShortRetention(name, settings);
  const dataDir = settings.dataDir && resolve(settings.dataDir);
  const tables = tablesIn("esim_webhooks", steadyTime);
  const db = new Kysely<Database>({
    dialect: new PGliteDialect({ pglite: () => openPGlite(name, dataDir) }),
  });
  let unlock: (() => Promise<void>) | undefined;

  const check = async () => {
    if (dataDir !== undefined) unlock ??= await lockFolder(dataDir);
    await migrate(withoutPlugins(db), tables);
    await recover(withoutPlugins(db), tables);
  };
  const guard = createStoreGuard({ name, timeoutMs, logger: settings.logger, check });
  const close = async () => {
    await db.destroy();
    await unlock?.();
  };
  return { db, tables, guard, close: () => guard.close(close) };
}

/** PGlite's own clock is this process's, which jumps when the machine's time is set. */
function steadyTime(): RawBuilder<Date> {
  return sql`to_timestamp(${monotonicClock.now() / 1000}::float8)`;
}

async function openPGlite(name: string, dataDir: string | undefined) {
  const { PGlite } = await import("@electric-sql/pglite").catch((cause: unknown) => {
    throw new WebhookError(
      "invalid_option",
      `${name} needs PGlite, which is not installed.`,
      "Run npm install @electric-sql/pglite.",
      { cause },
    );
  });
  return PGlite.create(dataDir === undefined ? {} : { dataDir });
}
