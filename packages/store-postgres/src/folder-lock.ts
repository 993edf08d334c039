import { link, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { WebhookError } from "@esim-webhooks/core";

/** Folders this process has open, so that its own lock is told from that of a dead process with the same number. */
const held = new Set<string>();

/**
 * Takes the folder for this process, by the file `<folder>.lock` with the process's number in it. One that a killed
 * process left behind is taken over. Resolves to what gives the folder back; rejects with `folder_in_use`.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const lock = `${folder}.lock`;
  await mkdir(folder, { recursive: true });
  if (held.has(folder)) throw inUse(folder, lock, process.pid);
  held.add(folder);
  try {
    await takeLock(folder, lock);
  } catch (error) {
    held.delete(folder);
    throw error;
  }
  return async () => {
    await rm(lock, { force: true });
    held.delete(folder);
  };
}

async function takeLock(folder: string, lock: string): Promise<void> {
  const mine = `${lock}.${process.pid}`;
  await writeFile(mine, `${process.pid}\n`);
  try {
    while (!(await linked(mine, lock))) {
      const owner = await readFile(lock, "utf8").catch(() => "");
      if (isRunning(Number(owner))) throw inUse(folder, lock, Number(owner));
      await setAside(lock, owner, mine);
    }
  } finally {
    await rm(mine, { force: true });
  }
}

/** A link is there with its content or not at all. */
async function linked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Removes a dead process's lock; if another opener was faster, that one's lock is put back. */
async function setAside(lock: string, owner: string, mine: string): Promise<void> {
  const aside = `${mine}.old`;
  try {
    await rename(lock, aside);
  } catch {
    return; // somebody else has just removed it
  }
  if ((await readFile(aside, "utf8")) !== owner) await linked(aside, lock);
  await rm(aside, { force: true });
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function inUse(folder: string, lock: string, pid: number): WebhookError {
  return new WebhookError(
    "folder_in_use",
    `The folder ${folder} is open in process ${pid}, and embedded Postgres is for one process at a time.`,
    `Use postgresStore where several processes work; if there is no such process, delete ${lock}.`,
  );
}
