import { access, constants, open, stat, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder, syncFolder, syncFoldersAbove } from "@esim-webhooks/core/internal";
import { FaultError, faultOf, loneLog } from "./faults.ts";

export interface Location {
  /** The database file, as an absolute path. */
  readonly path: string;
  readonly allowNetworkMount: boolean;
}

/**
 * Makes the folder and the file where they are missing, for the present user alone, and refuses a place where no database
 * can be kept. Never opens an existing file: to close it would drop the locks that this process has on it.
 */
export async function prepareLocation({ path, allowNetworkMount }: Location): Promise<void> {
  const folder = dirname(path);
  try {
    await refuseFolder(path);
    await makeFolder(folder);
    if (!allowNetworkMount) await refuseNetworkMount(folder);
    await refuseLoneLog(path);
    await makeFile(path);
    await access(path, constants.R_OK | constants.W_OK);
    await access(folder, constants.W_OK);
    await syncFolder(folder);
    if ((await stat(path)).size === 0) await syncFoldersAbove(folder); // before anything is in the file
  } catch (error) {
    throw new FaultError(faultOf(error, path));
  }
}

/** Refuses a file that does not exist, or is where no database can be kept. Makes nothing. */
export async function requireFile({ path, allowNetworkMount }: Location): Promise<void> {
  try {
    await refuseFolder(path);
    await refuseLoneLog(path);
    if (!(await exists(path))) {
      throw new FaultError({
        code: "invalid_option",
        problem: `There is no file ${path}.`,
        remedy: "Check the path: only a database that is there can be copied.",
      });
    }
    if (!allowNetworkMount) await refuseNetworkMount(dirname(path));
  } catch (error) {
    throw new FaultError(faultOf(error, path));
  }
}

async function refuseFolder(path: string): Promise<void> {
  if (!(await isFolder(path))) return;
  throw new FaultError({
    code: "invalid_option",
    problem: `The path ${path} is a folder.`,
    remedy: `Name the file in it, such as ${join(path, "events.db")}.`,
  });
}

/** Refuses a log without its database. SQLite removes the log of a file that is new or empty, though a process may still store events in it. */
async function refuseLoneLog(path: string): Promise<void> {
  if (!(await exists(`${path}-wal`))) return; // checked before the size: the log is made after the file has its first page
  const size = (await statOf(path))?.size ?? 0;
  if (size === 0) throw new FaultError(loneLog(path));
}

/** Types of Linux file systems (statfs(2)) whose disk is another machine's. FUSE is left out: it may be either. */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
  [0x0bd00bd0, "Lustre"],
  [0x47504653, "GPFS"],
]);

/** The name of a network file system by its number; undefined for every other one. */
export function networkTypeOf(type: number): string | undefined {
  return networkTypes.get(type >>> 0);
}

/**
 * Refuses a folder on a network mount: locks there do not hold between machines, nor does a write-ahead log, whose index
 * is shared memory. Asks on Linux only: elsewhere the numbers mean something else.
 */
async function refuseNetworkMount(folder: string): Promise<void> {
  if (process.platform !== "linux") return;
  const { type } = await statfs(folder);
  const name = networkTypeOf(type);
  if (name === undefined) return;
  throw new FaultError({
    code: "network_mount",
    problem: `The folder ${folder} is on a network mount (${name}), where SQLite's locks do not hold.`,
    remedy: "Use a local disk, or Postgres for several machines; allowNetworkMount: true takes the risk.",
  });
}

async function makeFile(path: string): Promise<void> {
  try {
    await (await open(path, "wx", 0o600)).close(); // SQLite gives its own files next to it the same mode
  } catch (error) {
    if ((error as { code?: string }).code !== "EEXIST") throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return (await statOf(path)) !== undefined;
}

async function isFolder(path: string): Promise<boolean> {
  return (await statOf(path))?.isDirectory() === true;
}

async function statOf(path: string): Promise<Awaited<ReturnType<typeof stat>> | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}
