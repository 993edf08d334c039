import { isBuiltin } from "node:module";
import { WebhookError } from "@esim-webhooks/core";
import { createStoreGuard, safePurge, warnOfSetup } from "@esim-webhooks/core/engine";
import { type FaultCode, FaultError } from "./database/faults.ts";
import type { Journal } from "./database/journal.ts";
import type { ForgetInput } from "./sql/forget.ts";
import type { SqliteFileSettings } from "./sqlite-options.ts";
import type { Hints } from "./thread/database.ts";
import type { InputOf, OutputOf, Reads, Writes } from "./thread/protocol.ts";
import { useDatabase } from "./thread/shared-database.ts";
import { requireThread } from "./thread/thread.ts";

/** The database as a store or an inbox calls it. Everything rejects with a `WebhookError` only, within the timeout. */
export interface OpenSqlite {
  /** Opens the file, and updates its tables, without a time limit. */
  migrate(): Promise<void>;
  /** Writes something, so that it rejects while nothing can be stored. */
  ready(): Promise<void>;
  /** Resolves once it is on the disk, as far as the durability says so. */
  write<Name extends keyof Writes>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  read<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** Deletes some events whose retention has expired, and bodies whose own has. Resolves to how many. */
  purge(limit: number): Promise<number>;
  readonly hints: Hints;
  close(): Promise<void>;
}

/** Opens nothing yet: the first operation does, or `ready()`. Throws `invalid_option` or `thread_missing`. */
export function openSqlite(
  caller: string,
  settings: SqliteFileSettings,
  { bodyRetentionMs }: Pick<ForgetInput, "bodyRetentionMs"> = { bodyRetentionMs: undefined },
): OpenSqlite {
  requireThread(caller);
  const { path, allowNetworkMount, durability, timeoutMs, logger } = settings;
  const { database, release } = useDatabase(caller, { path, allowNetworkMount, durability, timeoutMs });
  const guard = createStoreGuard({ name: caller, timeoutMs, logger, backend: "file", check: open });

  async function open(): Promise<void> {
    requireSqlite();
    const journal = await database.open().catch(rethrow);
    if (journal.mode === "wal") return;
    warnOfSetup(logger, ...whyWithoutLog(path, journal));
  }

  const write: OpenSqlite["write"] = (name, input) =>
    guard.run(() => database.write(name, input, timeoutMs).catch(rethrow));

  return {
    migrate: () =>
      guard.runUnchecked(async () => {
        requireSqlite();
        await database.open().catch(rethrow);
      }),
    ready: () => write("probe", undefined), // rejects once it was closed, too
    write,
    purge: safePurge(caller, logger, {
      look: () => write("purgeClock", undefined),
      forget: (limit, next, kept) => write("forget", { limit, next, kept, bodyRetentionMs }),
    }),
    read: (name, input) => guard.run(() => database.read(name, input, timeoutMs).catch(rethrow)),
    hints: database.hints,
    close: () => guard.close(release),
  };
}

/** Throws `node_too_old` where Node.js has no SQLite: the thread would only report that a module is missing. */
function requireSqlite(): void {
  if (isBuiltin("node:sqlite")) return;
  throw new WebhookError<FaultCode>(
    "node_too_old",
    `This Node.js, ${process.version}, has no SQLite.`,
    "Use Node.js 22.18 or newer.",
  );
}

/** The code and the text of a warning. */
export function whyWithoutLog(path: string, { hasWalResetBug, sqliteVersion }: Journal): [string, string] {
  return hasWalResetBug
    ? [
        "wal_reset_bug",
        `SQLite ${sqliteVersion} of this Node.js can corrupt a write-ahead log, so ${path} is written without one: safe, and ` +
          "slower. Use a Node.js whose SQLite is 3.51.3 or newer.",
      ]
    : [
        "without_wal",
        `Another process kept ${path} from being turned to a write-ahead log, so it is written without one: safe, and slower. ` +
          "Stop the processes whose SQLite is older than 3.51.3, then start this one again.",
      ];
}

/** A fault as the error that users see; everything else as it is. */
export function rethrow(error: unknown): never {
  if (!(error instanceof FaultError)) throw error;
  const { code, problem, remedy, cause } = error.fault;
  throw new WebhookError<FaultCode>(code, problem, remedy, cause === undefined ? undefined : { cause });
}
