import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DedupeStore, Handlers, Inbox, InboxWriter } from "@esim-webhooks/core";
import { ProgramError } from "../program/program-error.ts";
import type { Place, SetUp } from "./set-up.ts";

/** Where events go: into an inbox, or to handlers, with a store that remembers what is done. */
export type OpenTarget = { readonly where: string; close(): Promise<void> } & (
  | { readonly inbox: InboxWriter }
  | { readonly handlers: Handlers<unknown>; readonly store: DedupeStore }
);

/** An inbox with everything that workers and operators need. */
export interface OpenInbox {
  readonly inbox: Inbox;
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
  const { target } = config;
  if (target !== undefined) return { inbox: target, where: `the target of ${file}`, close: closerOf(target) };
  if (handlers === undefined) return findInbox(setUp);
  const store = config.store ?? (await defaultStore(place));
  const where = `handlers of ${file}, done ids in ${config.store ? "its store" : nameOf(place)}`;
  return { handlers, store, where, close: closerOf(store) };
}

/**
 * Opens the config's target, else the default inbox, and brings its tables up to date.
 * Throws `not_an_inbox` when the config's target can only be stored into.
 */
export async function openInbox(setUp: SetUp): Promise<OpenInbox> {
  const open = await findInbox(setUp);
  return prepared(open, open.inbox);
}

/** The same inbox, with nothing changed or asked yet: for those who look only. */
export async function findInbox(setUp: SetUp): Promise<OpenInbox> {
  const { target } = setUp.config;
  if (target === undefined) {
    const inbox = await defaultInbox(setUp.place);
    return { inbox, where: nameOf(setUp.place), close: () => inbox.close() };
  }
  if (isFullInbox(target)) {
    return { inbox: target, where: `the target of ${setUp.file}`, close: () => target.close() };
  }
  throw new ProgramError(
    "not_an_inbox",
    `The target of ${setUp.file} can be stored into, and not be worked or looked at.`,
    "Use the tools of its own engine, or an inbox such as postgresInbox.",
  );
}

interface MayPrepare {
  migrate?(): Promise<void>;
  ready?(): Promise<void>;
}

/** Migrations are safe while others run them too, and change nothing where there are none to run. */
async function prepared<Open extends { close(): Promise<void> }>(open: Open, opened: object): Promise<Open> {
  const { migrate, ready } = opened as MayPrepare;
  try {
    await migrate?.call(opened);
    await ready?.call(opened);
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

/** Whether it can be worked and looked at, and not only stored into. */
export function isFullInbox(target: object): target is Inbox {
  return ["take", "settle", "stats", "list", "close"].every(
    (name) => typeof (target as Record<string, unknown>)[name] === "function",
  );
}

function closerOf(opened: object): () => Promise<void> {
  return async () => (opened as { close?(): Promise<void> }).close?.();
}
