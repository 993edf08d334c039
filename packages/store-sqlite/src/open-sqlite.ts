import { isBuiltin } from "node:module";
import { setTimeout as wait } from "node:timers/promises";
import { WebhookError } from "@esim-webhooks/core";
import { createStoreGuard, safePurge, warnOfSetup } from "@esim-webhooks/core/engine";
import { type FaultCode, FaultError } from "./database/faults.ts";
import type { Journal } from "./database/journal.ts";
import type { ForgetInput } from "./sql/forget.ts";
import type { SqliteFileSettings } from "./sqlite-options.ts";
import { type Hints, useFileThreads } from "./thread/file-threads.ts";
import type { InputOf, OutputOf, Reads, Writes } from "./thread/messages.ts";
import { requireThread } from "./thread/thread-handle.ts";

/** The file as a store or an inbox uses it. Every method rejects only with a `WebhookError`; each call to a thread has the timeout. */
export interface OpenSqlite {
  /** Opens the file, and updates its tables, without a time limit. */
  migrate(): Promise<void>;
  /** Writes something, so that it rejects while nothing can be stored. */
  ready(): Promise<void>;
  /**
   * Calls the function `name` of `sql/writes.ts` in the writer thread, with a transaction and `input`. Resolves once the transaction is
   * committed; with the durability `full`, it is on the disk then.
   */
  inWriter<Name extends keyof Writes>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** Calls the function `name` of `sql/reads.ts` in a reader thread, with its connection and `input`. */
  inReader<Name extends keyof Reads>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>;
  /** Deletes some events whose retention has expired, and some bodies whose body retention has. Resolves to how many. */
  purge(limit: number): Promise<number>;
  /** Empties the log, which may hold erased data. If that fails, it logs a warning; the next erasure, or the last process to close the file, empties it then. */
  truncateLog(): Promise<void>;
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
  const threads = useFileThreads(caller, { path, allowNetworkMount, durability, timeoutMs });
  const guard = createStoreGuard({ name: caller, timeoutMs, logger, backend: "file", check: open });

  async function open(): Promise<void> {
    requireSqlite();
    const journal = await threads.open().catch(rethrow);
    if (journal.mode === "wal") return;
    warnOfSetup(logger, ...whyWithoutLog(path, journal));
  }

  const inWriter: OpenSqlite["inWriter"] = (name, input) =>
    guard.run(() => threads.inWriter(name, input, timeoutMs).catch(rethrow));

  const inReader: OpenSqlite["inReader"] = (name, input) =>
    guard.run(() => threads.inReader(name, input, timeoutMs).catch(rethrow));

  return {
    migrate: () =>
      guard.runUnchecked(async () => {
        requireSqlite();
        await threads.open().catch(rethrow);
      }),
    ready: () => inWriter("probe", undefined), // also rejects after `close`
    inWriter,
    purge: safePurge(caller, logger, {
      look: () => inWriter("purgeClock", undefined),
      forget: (limit, next, kept) => inWriter("forget", { limit, next, kept, bodyRetentionMs }),
    }),
    inReader,
    async truncateLog() {
      try {
        for (let left = truncations.most; left > 0; left -= 1) {
          if (await inReader("truncateLog", undefined)) return;
          await wait(truncations.pauseMs);
        }
      } catch (err) {
        logger.warn({ err, code: "log_not_truncated" }, notTruncated);
        return;
      }
      logger.warn({ code: "log_not_truncated" }, notTruncated);
    },
    hints: threads.hints,
    close: () => guard.close(threads.close),
  };
}

const truncations = { most: 5, pauseMs: 100 };

const notTruncated =
  "The log of the file may still hold what was erased, since another process is reading it. Erase again, or stop all processes that use the file.";

/** Throws `node_too_old` where Node.js has no SQLite: the thread would only report that a module is missing. */
function requireSqlite(): void {
  if (isBuiltin("node:sqlite")) return;
  throw new WebhookError<FaultCode>(
    "node_too_old",
    `This Node.js, ${process.version}, has no SQLite.`,
    "Use Node.js 22.18 or newer.",
  );
}

/** Returns the code and the text of the warning that a file is written without a write-ahead log. */
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

/** Throws a fault as the error that users see, and every other error as it is. */
export function rethrow(error: unknown): never {
  if (!(error instanceof FaultError)) throw error;
  const { code, problem, remedy, cause } = error.fault;
  throw new WebhookError<FaultCode>(code, problem, remedy, cause === undefined ? undefined : { cause });
}
