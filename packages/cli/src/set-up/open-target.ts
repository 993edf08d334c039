import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DedupeStore, Handlers, Inbox, InboxQueue, Lifecycle } from "@esim-webhooks/core";
import { hasRole, type InboxRoles } from "@esim-webhooks/core/kit";
import { ProgramError } from "../program/program-error.ts";
import type { ConfigTarget } from "./config.ts";
import type { Place, SetUp } from "./set-up.ts";

/** Where events go: into an inbox, or to handlers, with a store that remembers done ids. `where` is for messages. */
export type OpenTarget = { readonly where: string; close(): Promise<void> } & (
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
  return prepared(found, "inbox" in found ? found.inbox : found.store);
}

/** The same target, neither migrated nor checked: for commands that change nothing. */
export async function findTarget(setUp: SetUp): Promise<OpenTarget> {
  const { config, handlers, file, place } = setUp;
  if (config.target !== undefined || handlers === undefined) return anyInbox(setUp);
  const store = config.store ?? (await defaultStore(place));
  const where = `the handlers in ${file}; done ids are kept in ${config.store ? "its store" : nameOf(place)}`;
  return { handlers, store, where, close: () => store.close() };
}

/** Opens the inbox for a worker, and migrates its tables. Throws `not_an_inbox` as `findInbox` does. */
export async function openQueue(setUp: SetUp): Promise<OpenInbox<InboxQueue>> {
  const open = await findInbox(setUp, "queue");
  return prepared(open, open.inbox);
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
  throw missingRole(role, where);
}

/** The error for a target without the role. */
export function missingRole(role: "queue" | "admin", where: string): ProgramError {
  return new ProgramError(
    "not_an_inbox",
    `${where.charAt(0).toUpperCase()}${where.slice(1)} can store events, but lacks the role "${role}", which this command needs.`,
    "Use the tools of that queue, or an inbox such as postgresInbox.",
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
  open: Open,
  opened: Partial<Lifecycle>,
): Promise<Open> {
  try {
    await opened.migrate?.();
    await opened.ready?.();
    return open;
  } catch (error) {
    await open.close().catch(() => {}); // report the first error
    throw error;
  }
}

async function defaultInbox(place: Place): Promise<Inbox> {
  const { embeddedInbox, postgresInbox } = await import("@esim-webhooks/store-postgres");
  if ("url" in place) return postgresInbox({ url: place.url });
  return embeddedInbox({ dataDir: await ownFolder(place.dataDir) });
}

async function defaultStore(place: Place): Promise<DedupeStore> {
  const { embeddedStore, postgresStore } = await import("@esim-webhooks/store-postgres");
  if ("url" in place) return postgresStore({ url: place.url });
  return embeddedStore({ dataDir: await ownFolder(place.dataDir) });
}

/**
 * Creates the folder, which will contain personal data: only its owner can read it, and git ignores it.
 * Resolves to the path of the database in it.
 */
async function ownFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    throw new ProgramError(
      "invalid_usage",
      `The folder ${folder} cannot be created (${cause.code}).`,
      "Name another with --data-dir or ESIM_WEBHOOKS_DATA_DIR, or a Postgres with DATABASE_URL.",
      { cause },
    );
  });
  await writeFile(join(folder, ".gitignore"), "*\n", { flag: "wx" }).catch(() => {}); // it exists
  return databaseIn(folder);
}

function databaseIn(folder: string): string {
  return join(folder, "postgres");
}

/** Whether there is an inbox yet: opening an embedded one would create it. */
export function hasInbox({ config, place }: SetUp): boolean {
  return config.target !== undefined || "url" in place || existsSync(databaseIn(place.dataDir));
}

function nameOf(place: Place): string {
  if ("dataDir" in place) return `the embedded inbox in ${place.dataDir}`;
  const { host, pathname } = URL.parse(place.url) ?? { host: "", pathname: "" };
  return `Postgres at ${host}${pathname}`;
}
