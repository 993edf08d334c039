import { randomUUID } from "node:crypto";
import { link, lstat, open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { FaultError } from "./errors.ts";
import { faultOf } from "./faults.ts";
import { syncFolder } from "./location.ts";

/**
 * Makes a new file that is whole and on the disk, or not there: `write` fills an empty one beside it, which then gets its
 * name. For the present user alone. Throws a `FaultError` where it cannot be made, or is there already.
 */
export async function writeWhole(file: string, write: (partial: string) => Promise<void>): Promise<void> {
  const path = resolve(file);
  const partial = `${path}.${randomUUID()}.partial`; // a name that nobody can take before
  await refuseExisting(path);
  await makeEmpty(partial);
  try {
    await write(partial);
    const handle = await open(partial, "r+");
    await handle.sync().finally(() => handle.close());
    await giveName(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
  await syncFolder(dirname(path));
}

/** A rename would replace what another backup has made there meanwhile; a second name (a hard link) does not. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (error) {
    if (codeOf(error) === "EEXIST") throw alreadyThere(path);
    await refuseExisting(path); // this file system has no second names
    await rename(partial, path);
  }
}

/** A link that leads nowhere is there, too. */
async function refuseExisting(path: string): Promise<void> {
  const isThere = await lstat(path).then(
    () => true,
    () => false,
  );
  if (isThere) throw alreadyThere(path);
}

function alreadyThere(path: string): FaultError {
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
    throw new FaultError(faultOfMaking(error, path));
  }
}

function faultOfMaking(error: unknown, path: string) {
  const code = codeOf(error);
  if (code !== "ENOENT" && code !== "ENOTDIR") return faultOf(error, path);
  return {
    code: "invalid_option",
    problem: `There is no folder ${dirname(path)}.`,
    remedy: "Make it, or name another file.",
  } as const;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}
