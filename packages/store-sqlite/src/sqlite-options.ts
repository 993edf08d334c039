import { realpathSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { durationMs, type OptionsShape, type StoreOptions, storeShape } from "@esim-webhooks/core/engine";
import * as z from "zod/mini";
import type { Durability } from "./database/journal.ts";

/** Where the file is, and how it is written. */
export interface SqliteFileOptions extends Pick<StoreOptions, "logger"> {
  /** The database file, such as `"data/events.db"`. A missing one is created, with its folder. It may contain your own tables. */
  path: string;
  /**
   * `"full"`: what was answered is on the disk. `"normal"`: it survives a crash of the process, but a power cut may lose the
   * last moments, so `capabilities.durable` is false and `reconcile` refuses it; several times faster on slow disks. If SQLite
   * writes without a log (`wal_reset_bug`, `without_wal`), `"normal"` waits for the disk too. Default `"full"`.
   */
  durability?: Durability;
  /** How long an operation may take, in ms, waiting for other processes included, before it rejects. Default 5,000. */
  timeoutMs?: number;
  /** Accepts a file on a network mount, where SQLite's locks may not hold. Default false: it is refused. */
  allowNetworkMount?: boolean;
}

/** The options of a store or an inbox in the file. */
export interface SqliteOptions extends SqliteFileOptions, StoreOptions {}

export type SqliteFileSettings = Required<SqliteFileOptions>;
export type SqliteSettings = Required<SqliteOptions>;

const filePath = z.pipe(
  z
    .string('expected the path of a file, such as "data/events.db"')
    .check(
      z.refine(
        (path) => path !== "" && !path.startsWith(":memory:") && !path.startsWith("file:"),
        "expected the path of a file; for memory alone there are memoryStore() and memoryInbox()",
      ),
    ),
  z.transform((path: string) => realPath(resolve(path))),
);

export const sqliteFileShape: OptionsShape<SqliteFileSettings> = {
  logger: storeShape.logger,
  path: filePath,
  durability: z._default(z.enum(["full", "normal"]), "full"),
  timeoutMs: z._default(durationMs(1), 5000),
  allowNetworkMount: z._default(z.boolean(), false),
};

export const sqliteShape: OptionsShape<SqliteSettings> = { ...sqliteFileShape, ...storeShape };

/**
 * Returns the path without symbolic links, also if its last parts do not exist yet: SQLite names its own files after the real path, and a
 * process must have one writer for a file, even if two paths lead to it.
 */
function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const folder = dirname(path);
    return folder === path ? path : join(realPath(folder), basename(path)); // opening the file reports what is wrong with it
  }
}
