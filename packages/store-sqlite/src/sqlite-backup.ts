import { randomUUID } from "node:crypto";
import { fsync } from "node:fs";
import { link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { promisify } from "node:util";
import { WebhookError } from "@esim-webhooks/core";
import { parseOptions } from "@esim-webhooks/core/engine";
import { syncFolder } from "@esim-webhooks/core/internal";
import { FaultError, faultOf, type SqliteErrorCode } from "./database/faults.ts";
import { openSource } from "./open-source.ts";
import { rethrow } from "./open-sqlite.ts";
import { type SqliteFileOptions, sqliteFileShape } from "./sqlite-options.ts";

/**
 * Copies the whole database, your own tables included, to a new file, while others read and write it. Resolves once the copy
 * is on the disk. Only the user of this process can read the copy. It has every write that was acknowledged before the call.
 *
 * Rejects with `invalid_option` if the database does not exist, if `file` exists or its folder does not; with `store_unavailable`, `store_full`, or a
 * code of `SqliteErrorCode`.
 */
export async function sqliteBackup(options: SqliteFileOptions, file: string): Promise<void> {
  const settings = parseOptions("sqliteBackup", sqliteFileShape, options);
  const { ready, inOwnThread, close } = openSource("sqliteBackup", "backup", settings);
  try {
    await ready();
    await writeWhole(file, (partial) => inOwnThread("backup", { file: partial })).catch(rethrow);
  } finally {
    await close();
  }
}

/**
 * Looks for damage in the whole database, your own tables included, while others read and write it. It reads the whole file: a second
 * for a gigabyte that is in memory, and as long as the disk takes for one that is not.
 *
 * Rejects with `database_corrupt` if it finds any, with `invalid_option` if the database does not exist, with `store_unavailable`, or
 * another code of `SqliteErrorCode`.
 */
export async function sqliteCheck(options: SqliteFileOptions): Promise<void> {
  const settings = parseOptions("sqliteCheck", sqliteFileShape, options);
  const { ready, inOwnThread, close } = openSource("sqliteCheck", "backup", settings);
  try {
    await ready();
    const damage = await inOwnThread("quickCheck", undefined);
    if (damage === undefined) return;
    throw new WebhookError<SqliteErrorCode>(
      "database_corrupt",
      `The file ${settings.path} is damaged: ${damage}.`,
      "Keep a copy, and restore a backup or try sqlite3's .recover.",
    );
  } finally {
    await close();
  }
}

/**
 * Makes a new file, which is at its path only once it is whole: `write` fills an empty file next to it, which is synced and then gets the
 * name. Only the present user can read it. Throws a `FaultError` if the file exists or cannot be made.
 */
async function writeWhole(file: string, write: (partial: string) => Promise<void>): Promise<void> {
  const path = resolve(file);
  const partial = `${path}.${randomUUID()}.partial`; // no other program can guess this name and take it first, or give it a journal that SQLite would believe
  await refuseExisting(path);
  await makeEmpty(partial);
  try {
    await write(partial);
    await publish(partial, path).catch((error: unknown) => {
      throw new FaultError(faultOf(error, path));
    });
  } finally {
    await rm(partial, { force: true });
  }
}

/** Gives the partial file its final name. Both are on the disk afterwards. */
async function publish(partial: string, path: string): Promise<void> {
  const handle = await open(partial, "r+");
  await promisify(fsync)(handle.fd).finally(() => handle.close());
  await giveName(partial, path);
  await syncFolder(dirname(path));
}

/** Gives the partial file its final name, by a hard link: a rename would replace a file that another backup has made there meanwhile. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw alreadyExists(path);
    await refuseExisting(path); // this file system has no hard links
    await rename(partial, path);
  }
}

/** Refuses a path at which there is anything, even a symbolic link whose target does not exist. */
async function refuseExisting(path: string): Promise<void> {
  const exists = await lstat(path).then(
    () => true,
    () => false,
  );
  if (exists) throw alreadyExists(path);
}

function alreadyExists(path: string): FaultError {
  return new FaultError({
    code: "invalid_option",
    problem: `The file ${path} exists, and is not overwritten.`,
    remedy: "Name another file, or remove this one.",
  });
}

async function makeEmpty(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close();
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" && code !== "ENOTDIR") throw new FaultError(faultOf(error, path));
    throw new FaultError({
      code: "invalid_option",
      problem: `There is no folder ${dirname(path)}.`,
      remedy: "Make it, or name another file.",
    });
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
