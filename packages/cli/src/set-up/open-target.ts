import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DedupeStore, Handlers, Inbox, InboxQueue, Lifecycle } from "@esim-webhooks/core";
import { hasRole, type InboxRoles } from "@esim-webhooks/core/kit";
import { ProgramError } from "../program/program-error.ts";
import type { ConfigTarget } from "./config.ts";
import type { Place, SetUp } from "./set-up.ts";

/** Where events go: into an inbox, or to handlers, with a store that remembers what is done. */
export type OpenTarget = { readonly where: string; close(): Promise<void> } & (
  | { readonly inbox: ConfigTarget<unknown> }
  | { readonly handlers: Handlers<unknown>; readonly store: DedupeStore }
);

/** An inbox with the role that a command needs. */
export interface OpenInbox<Role = unknown> {
  readonly inbox: Role;
  /** For people: which inbox it is. Holds no password. */
  readonly where: string;
  close(): Promise<void>;
}

/**
 * Opens what `serve` and `import` bring events to: the config's target, else its handlers, else the default inbox. Its
 * tables are brought up to date, and it is reachable.
 */
export async function openTarget(setUp: SetUp): Promise<OpenTarget> {
  const found = await findTarget(setUp);
  return prepared(found, "inbox" in found ? found.inbox : found.store);
}

/** The same target, with nothing changed or asked yet: for those who look only. */
export async function findTarget(setUp: SetUp): Promise<OpenTarget> {
  const { config, handlers, file, place } = setUp;
  if (config.target !== undefined || handlers === undefined) return anyInbox(setUp);
  const store = config.store ?? (await defaultStore(place));
  const where = `handlers of ${file}, done ids in ${config.store ? "its store" : nameOf(place)}`;
  return { handlers, store, where, close: () => store.close() };
}

/** Opens the inbox for a worker, and brings its tables up to date. Throws `not_an_inbox` as `findInbox` does. */
export async function openQueue(setUp: SetUp): Promise<OpenInbox<InboxQueue>> {
  const open = await findInbox(setUp, "queue");
  return prepared(open, open.inbox);
}

/**
 * Finds the config's target, else the default inbox, with nothing changed or asked yet.
 * Throws `not_an_inbox` when the config's target does not have the role.
 */
export async function findInbox<Name extends keyof typeof uses>(
  setUp: SetUp,
  role: Name,
): Promise<OpenInbox<InboxRoles[Name]>> {
  const { inbox, where, close } = await anyInbox(setUp);
  if (hasRole(inbox, role)) return { inbox, where, close };
  throw lacking(role, where);
}

/** What commands want of an inbox, in words. */
const uses = { queue: "worked", admin: "looked at" } as const;

/** For a target that does not have the role: it states none, or others. */
export function lacking(role: keyof typeof uses, where: string): ProgramError {
  return new ProgramError(
    "not_an_inbox",
    `${where.charAt(0).toUpperCase()}${where.slice(1)} can be stored into, and not be ${uses[role]}.`,
    "Use the tools of its own engine, or an inbox such as postgresInbox.",
  );
}

async function anyInbox({ config, file, place }: SetUp): Promise<OpenInbox<ConfigTarget<unknown>>> {
  const { target } = config;
  const inbox = target ?? (await defaultInbox(place));
  const where = target === undefined ? nameOf(place) : `the target of ${file}`;
  return { inbox, where, close: async () => inbox.close?.() };
}

/** Migrations are safe while others run them too, and change nothing where there are none to run. */
async function prepared<Open extends { close(): Promise<void> }>(
  open: Open,
  opened: Partial<Lifecycle>,
): Promise<Open> {
  try {
    await opened.migrate?.();
    await opened.ready?.();
    return open;
  } catch (error) {
    await open.close().catch(() => {}); // what failed first is what is told
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

/** It holds personal data: for its owner's eyes, and not to be committed. Resolves to where the database is in it. */
async function ownFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((cause: NodeJS.ErrnoException) => {
    throw new ProgramError(
      "invalid_usage",
      `The folder ${folder} cannot be made (${cause.code}).`,
      "Name another by --data-dir or ESIM_WEBHOOKS_DATA_DIR, or a Postgres by DATABASE_URL.",
      { cause },
    );
  });
  await writeFile(join(folder, ".gitignore"), "*\n", { flag: "wx" }).catch(() => {}); // there already
  return databaseIn(folder);
}

function databaseIn(folder: string): string {
  return join(folder, "postgres");
}

/** Whether there is anything to look at: an embedded database is made when it is opened. */
export function hasInbox({ config, place }: SetUp): boolean {
  return config.target !== undefined || "url" in place || existsSync(databaseIn(place.dataDir));
}

function nameOf(place: Place): string {
  if ("dataDir" in place) return `the embedded inbox in ${place.dataDir}`;
  const { host, pathname } = URL.parse(place.url) ?? { host: "", pathname: "" };
  return `Postgres at ${host}${pathname}`;
}
