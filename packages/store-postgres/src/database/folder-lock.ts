import { link, mkdir, readFile, rm, rmdir, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { WebhookError } from "@esim-webhooks/core";
import type { PostgresErrorCode } from "./errors.ts";

/** Who has a folder open: one process may do so in several threads, or with two copies of this module. */
interface Owner {
  readonly pid: number;
  readonly host: string;
}

const beatEveryMs = 1000;
/** A lock that was not touched for so long belongs to nobody who could be asked. */
const silentAfterMs = 5000;

/**
 * Takes the folder, by the file `<folder>.lock`, which says who has it and is touched every second. One that a dead
 * process left behind is taken over: at once where the process can be asked for, else when it has been silent for
 * five seconds. Resolves to what gives the folder back; rejects with `folder_in_use`.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const lock = `${folder}.lock`;
  const mine = `${lock}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  await mkdir(folder, { recursive: true });
  await writeFile(mine, JSON.stringify({ pid: process.pid, host: hostname() } satisfies Owner));
  try {
    while (!(await isTaken(mine, lock))) await takeOver(lock, folder);
  } finally {
    await rm(mine, { force: true });
  }
  const beat = () => utimes(lock, new Date(), new Date()).catch(() => {});
  const heart = setInterval(beat, beatEveryMs).unref();
  return async () => {
    clearInterval(heart);
    await rm(lock, { force: true });
  };
}

/** A link is there with its content, or not at all. */
async function isTaken(mine: string, lock: string): Promise<boolean> {
  try {
    await link(mine, lock);
    return true;
  } catch (error) {
    if (isCode(error, "EEXIST")) return false;
    throw error;
  }
}

/** Removes the lock of one who is gone; one at a time, so that nobody removes the lock of who was faster. */
async function takeOver(lock: string, folder: string): Promise<void> {
  if (!(await isLeftBehind(lock, folder))) return;
  const turn = `${lock}.takeover`;
  try {
    await mkdir(turn);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
    if ((await silence(turn)) > silentAfterMs) await rmdir(turn).catch(() => {}); // its process ended in the middle
    await pause(20);
    return;
  }
  try {
    if (await isLeftBehind(lock, folder)) await rm(lock); // looked at again: only who has the turn removes one
  } finally {
    await rmdir(turn);
  }
}

/** True: its owner is gone. False: it is not there any more. Rejects with `folder_in_use` when it has an owner. */
async function isLeftBehind(lock: string, folder: string): Promise<boolean> {
  const text = await readFile(lock, "utf8").catch(() => undefined);
  if (text === undefined) return false;
  const owner = readOwner(text);
  const isOwned =
    owner !== undefined && isElsewhere(owner) ? isRunning(owner.pid) : (await silence(lock)) <= silentAfterMs;
  if (isOwned) throw inUse(folder, lock, owner?.pid);
  return true;
}

/** Another process of this machine, which can be asked whether it runs. */
function isElsewhere({ pid, host }: Owner): boolean {
  return host === hostname() && pid !== process.pid;
}

function readOwner(text: string): Owner | undefined {
  try {
    const { pid, host } = JSON.parse(text) as Partial<Owner>;
    return typeof pid === "number" && pid > 0 && typeof host === "string" ? { pid, host } : undefined;
  } catch {
    return undefined;
  }
}

/** How long ago it was touched, in ms; NaN when it is not there any more, which is neither long nor short. */
async function silence(path: string): Promise<number> {
  const touched = await stat(path).catch(() => undefined);
  return Date.now() - (touched?.mtimeMs ?? Number.NaN);
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isCode(error, "EPERM");
  }
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code;
}

function inUse(folder: string, lock: string, pid: number | undefined): WebhookError<PostgresErrorCode> {
  return new WebhookError<PostgresErrorCode>(
    "folder_in_use",
    `The folder ${folder} is open in ${pid === undefined ? "another process" : `process ${pid}`}, and embedded Postgres is for one process at a time.`,
    `Use Postgres itself where several processes work; if nobody has it open, delete ${lock}.`,
  );
}
