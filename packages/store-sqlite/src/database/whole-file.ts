import { access, open, rename, rm } from "node:fs/promises";
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
  const partial = `${path}.partial`;
  await refuseExisting(path);
  await makeEmpty(partial);
  try {
    await write(partial);
    const handle = await open(partial, "r+");
    await handle.sync().finally(() => handle.close());
    await refuseExisting(path);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

async function refuseExisting(path: string): Promise<void> {
  const isThere = await access(path).then(
    () => true,
    () => false,
  );
  if (!isThere) return;
  throw new FaultError({
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
  switch ((error as { code?: string }).code) {
    case "EEXIST":
      return {
        code: "invalid_option",
        problem: `The file ${path} exists: it is being written, or was left by a process that was killed.`,
        remedy: "Wait for the other one, or remove the file.",
      } as const;
    case "ENOENT":
    case "ENOTDIR":
      return {
        code: "invalid_option",
        problem: `There is no folder ${dirname(path)}.`,
        remedy: "Make it, or name another file.",
      } as const;
    default:
      return faultOf(error, path);
  }
}
