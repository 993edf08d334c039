import { existsSync, realpathSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Inbox, Logger } from "@esim-webhooks/core";
import type { CliContext } from "../program/context.ts";
import { fullDisk } from "../program/error-text.ts";
import { invalidUsage, programError } from "../program/program-error.ts";
import { nameOf, postgresUrlOf, urlInFlag } from "../set-up/place.ts";
import { folderOf } from "../set-up/set-up.ts";

/** An inbox of the command's own, next to the real one. */
export interface BenchInbox {
  readonly inbox: Inbox;
  readonly engine: "Postgres" | "SQLite";
  /** Names the database or the folder that is measured. Contains no password. */
  readonly where: string;
  /** The schema or the folder that was made. */
  readonly made: string;
  /** The version of the server or the library, such as `17.2`. */
  readonly version: string;
  /** Closes the inbox, and removes all that was made. */
  remove(): Promise<void>;
}

/** Makes an inbox in the named database or folder, else where the default inbox is. The caller must call `remove()`. Throws `invalid_usage`, `unreadable_file`, `store_full`. */
export function openBenchInbox(
  context: CliContext,
  named: string | undefined,
  logger: Logger,
): Promise<BenchInbox> {
  const { process } = context;
  const { DATABASE_URL } = process.env;
  if (named === undefined && DATABASE_URL) return inSchema(postgresUrlOf({ url: DATABASE_URL }), logger);
  if (named?.includes("://")) {
    if (/^rediss?:/.test(named)) throw noRedis();
    return inSchema(urlInFlag("--inbox", named), logger);
  }
  if (named !== undefined) return inFolder(named, resolve(process.cwd(), named), context, logger);
  const { dataDir, path } = folderOf(process, undefined);
  return inFolder(dataDir, path, context, logger);
}

async function inSchema(url: string, logger: Logger): Promise<BenchInbox> {
  const { postgresBenchInbox } = await import("@esim-webhooks/store-postgres");
  const { inbox, schema, serverVersion: version, remove } = await postgresBenchInbox({ url, logger });
  return { inbox, engine: "Postgres", version, where: nameOf({ url }), made: `the schema ${schema}`, remove };
}

/** Makes the inbox in the named folder, or in the folder of the named file: on the same disk. */
async function inFolder(
  shown: string,
  path: string,
  { process }: CliContext,
  logger: Logger,
): Promise<BenchInbox> {
  if (!existsSync(path)) {
    throw programError(
      "unreadable_file",
      `There is no file or folder ${shown}.`,
      "Name an SQLite file, or a folder on the disk to measure, with --inbox; or a Postgres with DATABASE_URL.",
    );
  }
  const real = realpathSync(path); // a link may lead to another disk
  const parent = statSync(real).isDirectory() ? real : dirname(real);
  const folder = await mkdtemp(join(parent, "esim-webhooks-bench-")).catch((cause: NodeJS.ErrnoException) => {
    throw (
      fullDisk(cause, parent) ??
      invalidUsage(
        `No folder can be made in ${parent} (${cause.code}).`,
        "Run the command as the user of the inbox, or name another folder with --inbox.",
        { cause },
      )
    );
  });
  const { sqliteInbox } = await import("@esim-webhooks/store-sqlite");
  const inbox = sqliteInbox({ path: join(folder, "events.db"), logger });
  const remove = () => inbox.close().finally(() => rm(folder, { recursive: true, force: true }));
  try {
    await inbox.ready();
  } catch (error) {
    await remove().catch(() => {}); // report the first error
    throw error;
  }
  return {
    inbox,
    engine: "SQLite",
    version: process.versions["sqlite"] ?? "",
    where: `SQLite in ${parent}`,
    made: `the folder ${folder}`,
    remove,
  };
}

function noRedis(): Error {
  return invalidUsage(
    "bench measures Postgres and SQLite, not BullMQ on Redis.",
    "In a clone of the repository, npm run bench -- bullmq measures it.",
  );
}
