import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type DedupeStore,
  type Handlers,
  type Inbox,
  type InboxQueue,
  type Lifecycle,
  WebhookError,
} from "@esim-webhooks/core";
import { hasRole, type InboxRoles, makeFolder, silentLogger, warnOfSetup } from "@esim-webhooks/core/kit";
import type { SqliteErrorCode } from "@esim-webhooks/store-sqlite";
import { ProgramError } from "../program/program-error.ts";
import type { ConfigTarget } from "./config.ts";
import { openModeOf } from "./folder-mode.ts";
import { namingStore } from "./named-store.ts";
import { nameOf, type Place, postgresUrlOf } from "./place.ts";
import type { SetUp } from "./set-up.ts";

/** Where events go: into an inbox, or to handlers, with a store that remembers done ids. */
export type OpenTarget = {
  /** Names it in messages. */
  readonly where: string;
  /** Names the inbox or the store in messages. */
  readonly storedIn: string;
  close(): Promise<void>;
} & (
  | { readonly inbox: ConfigTarget<unknown> }
  | { readonly handlers: Handlers<unknown>; readonly store: DedupeStore }
);

/** An inbox with the role that a command needs. */
export interface OpenInbox<Role = unknown> {
  readonly inbox: Role;
  /** Names the inbox in messages. Contains no password. */
  readonly where: string;
  close(): Promise<void>;
}

/**
 * Opens the target of `serve` and `import`: the config's target, else its handlers, else the default inbox.
 * Migrates its tables, and checks that it is reachable.
 */
export async function openTarget(setUp: SetUp): Promise<OpenTarget> {
  const found = await findTarget(setUp);
  return prepared(setUp, found, "inbox" in found ? found.inbox : found.store);
}

/** The same target, neither migrated nor checked: for commands that change nothing. */
export async function findTarget(setUp: SetUp): Promise<OpenTarget> {
  const { config, handlers, file, place } = setUp;
  if (config.target !== undefined || handlers === undefined) {
    const open = await anyInbox(setUp);
    return { ...open, storedIn: open.where };
  }
  const store = config.store ?? (await defaultStore(place));
  const storedIn = config.store ? `the store in ${file}` : nameOf(place);
  const where = `the handlers in ${file}; done ids are kept in ${config.store ? "its store" : storedIn}`;
  return { handlers, store, where, storedIn, close: async () => store.close() };
}

/** Opens the inbox for a worker, and migrates its tables. Throws `not_an_inbox` as `findInbox` does. */
export async function openQueue(setUp: SetUp): Promise<OpenInbox<InboxQueue>> {
  const open = await findInbox(setUp, "queue");
  return prepared(setUp, open, open.inbox);
}

/**
 * Opens the inbox whose events `serve` processes: its target, or the default inbox if its handlers use the default store.
 * Undefined if there is none, or no handlers.
 */
export async function openQueueOf(
  target: OpenTarget,
  setUp: SetUp,
): Promise<OpenInbox<InboxQueue> | undefined> {
  const { handlers, config } = setUp;
  if (handlers === undefined) return undefined;
  if (!("inbox" in target)) return config.store === undefined ? openQueue(setUp) : undefined;
  const { inbox, where } = target;
  return hasRole(inbox, "queue") ? { inbox, where, close: async () => {} } : undefined; // closed with the target
}

/**
 * Finds the config's target, else the default inbox, neither migrated nor checked yet.
 * Throws `not_an_inbox` when the config's target does not have the role.
 */
export async function findInbox<Name extends "queue" | "admin">(
  setUp: SetUp,
  role: Name,
): Promise<OpenInbox<InboxRoles[Name]>> {
  const { inbox, where, close } = await anyInbox(setUp);
  if (hasRole(inbox, role)) return { inbox, where, close };
  await close().catch(() => {}); // report the missing role
  throw missingRole(role, where);
}

/** The error for a target without the role. */
export function missingRole(role: "queue" | "admin", where: string): ProgramError {
  return new ProgramError(
    "not_an_inbox",
    `${where.charAt(0).toUpperCase()}${where.slice(1)} can store events, but lacks the role "${role}", which this command needs.`,
    "Use the tools of that queue, or an inbox such as sqliteInbox or postgresInbox.",
  );
}

async function anyInbox({ config, file, place }: SetUp): Promise<OpenInbox<ConfigTarget<unknown>>> {
  const { target } = config;
  const inbox = target ?? (await defaultInbox(place));
  const where = target === undefined ? nameOf(place) : `the target in ${file}`;
  return { inbox, where, close: async () => inbox.close?.() };
}

/** Several processes can migrate at the same time. A migrated database is not changed. */
async function prepared<Open extends { close(): Promise<void> }>(
  setUp: SetUp,
  open: Open,
  opened: Partial<Lifecycle>,
): Promise<Open> {
  try {
    await opened.migrate?.();
    await opened.ready?.();
    return open;
  } catch (error) {
    await open.close().catch(() => {}); // report the first error
    throw namingStore(error, setUp);
  }
}

async function defaultInbox(place: Place): Promise<Inbox> {
  if ("url" in place) {
    const { postgresInbox } = await import("@esim-webhooks/store-postgres");
    return postgresInbox({ url: postgresUrlOf(place) });
  }
  const path = await ownFile(place.dataDir);
  const { sqliteInbox } = await import("@esim-webhooks/store-sqlite");
  return sqliteInbox({ path });
}

async function defaultStore(place: Place): Promise<DedupeStore> {
  if ("url" in place) {
    const { postgresStore } = await import("@esim-webhooks/store-postgres");
    return postgresStore({ url: postgresUrlOf(place) });
  }
  const path = await ownFile(place.dataDir);
  const { sqliteStore } = await import("@esim-webhooks/store-sqlite");
  return sqliteStore({ path });
}

/**
 * Creates the folder, which will contain personal data: only its owner can read it, and git ignores it. Warns when it was
 * there and other users can use it.
 * Resolves to the path of the database in it.
 */
async function ownFile(folder: string): Promise<string> {
  const path = fileIn(folder);
  await makeFolder(folder).catch((cause: NodeJS.ErrnoException) => {
    throw new ProgramError(
      "invalid_usage",
      `The folder ${folder} cannot be created (${cause.code}).`,
      "Name another with --data-dir or ESIM_WEBHOOKS_DATA_DIR, or a Postgres with DATABASE_URL.",
      { cause },
    );
  });
  const openMode = await openModeOf(folder);
  if (openMode !== undefined) warnOfSetup(silentLogger, "data_folder_mode", openMode);
  await writeFile(join(folder, ".gitignore"), "*\n", { flag: "wx", mode: 0o600 }).catch(() => {}); // it exists
  return path;
}

/** The database in the folder. Throws `pglite_folder` where an earlier version has left one of another kind. */
export function fileIn(folder: string): string {
  if (!existsSync(join(folder, "postgres", "PG_VERSION"))) return join(folder, "events.db");
  throw new WebhookError<SqliteErrorCode>(
    "pglite_folder",
    `The events in ${join(folder, "postgres")} were stored by an earlier version, with PGlite, which this version cannot read.`,
    "Let that version process them, and then remove that folder; or name another folder with --data-dir.",
  );
}

/** Whether there is an inbox yet. Throws `pglite_folder`. */
export function hasInbox({ config, place }: SetUp): boolean {
  return config.target !== undefined || isThere(place);
}

/** Whether the default inbox is there: opening an embedded one would create it. Throws `pglite_folder`. */
export function isThere(place: Place): boolean {
  return "url" in place || existsSync(fileIn(place.dataDir));
}
