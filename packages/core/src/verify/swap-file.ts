import { hash, randomUUID } from "node:crypto";
import { type BigIntStats, constants } from "node:fs";
import {
  chmod,
  chown,
  link,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf, syncFolder, unlessMissing, writeDurably } from "../base/durable-file.ts";
import { WebhookError } from "../base/errors.ts";

/** A file as one read shows it: its text, a version that identifies this text in this file, its mode and its owner. */
export interface FileVersion {
  readonly text: string;
  readonly version: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

// A writer puts the new text into a folder of its own, <file>.draft-<id>/<id>, and renames that to <file>.next-<version>. Only one writer's
// rename finds no such folder, or an empty one: it has claimed the version. Then <id> is renamed over the file. Any process that finds a claim
// can do that last step, so a killed writer blocks no other. The file cannot get an older text again: a process sees a claim, then that the file
// still has the claim's version, then renames <id>. Meanwhile no other process can claim the version, since <id> is in the folder, and <id> is renamed
// only once. A version is of one file on the disk, not only of its text: a backup that is put back is another version, and the claims of the
// version before it are not carried out.

/** The age of a draft or a claim, in ms, from which its writer must have been killed. */
const abandonedMs = 60 * 60_000;

const mostBytes = 1024 * 1024;

const remainsPattern = /^(?:draft|next)-[0-9a-f-]{32,36}$/;

/** The path of the file itself, so that a link to it stays a link. */
export async function fileItself(path: string): Promise<string> {
  return (await realpath(path).catch(unlessMissing)) ?? path;
}

/** Reads the file, after the last step of a claim, if there is one: its writer may have been killed. Resolves to undefined without a file. */
export async function readSettled(file: string): Promise<FileVersion | undefined> {
  for (;;) {
    const current = await readVersion(file);
    if (current === undefined) return undefined;
    const claim = claimOf(file, current.version);
    const [id] = (await readdir(claim).catch(unlessMissing)) ?? [];
    if (id === undefined) return current;
    if ((await readVersion(file))?.version === current.version) await finish(file, claim, id);
  }
}

/** Creates the file, readable only by this user, and durable once this resolves to true. Resolves to false if there is one. */
export async function createFile(file: string, text: string): Promise<boolean> {
  const { folder, id } = await makeDraft(file, text);
  try {
    await link(join(folder, id), file);
    await syncFolder(dirname(file));
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * Replaces the text if the file has `version`, else resolves to false. Keeps the file's owner and mode. Durable once it resolves to true. After
 * a kill at any moment, the file has the old text or the new one.
 */
export async function replaceFile(file: string, version: string, text: string): Promise<boolean> {
  const current = await readSettled(file);
  if (current?.version !== version) return false;
  const { folder, id } = await makeDraft(file, text, current);
  const claim = claimOf(file, version);
  try {
    await rename(folder, claim);
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (!["ENOTEMPTY", "EEXIST"].includes(errnoOf(error))) throw error;
    await readSettled(file);
    return false;
  }
  if ((await readVersion(file))?.version === version) {
    await finish(file, claim, id).catch(async (error: unknown) => {
      await rm(claim, { recursive: true, force: true }); // else every reader would fail as this writer does
      throw error;
    });
  } else if (await unlink(join(claim, id)).then(() => true, unlessMissing)) {
    await removeEmpty(claim); // the claim came too late
    return false;
  }
  await removeRemains(file);
  return true;
}

/** Does the last step of a claim, unless another process has done it. */
async function finish(file: string, claim: string, id: string): Promise<void> {
  await rename(join(claim, id), file).catch(unlessMissing);
  await syncFolder(dirname(file));
  await removeEmpty(claim);
}

/**
 * Reads the file as it is. Resolves to undefined if there is no file. Throws `missing_secret` for a pipe or a device, and
 * `invalid_secret` for a file of more than 1 MiB.
 */
export async function readVersion(file: string): Promise<FileVersion | undefined> {
  const { O_RDONLY, O_NONBLOCK } = constants; // opening a FIFO would wait for its writer
  const handle = await open(file, O_RDONLY | O_NONBLOCK).catch(unlessMissing);
  if (handle === undefined) return undefined;
  try {
    const found = await handle.stat({ bigint: true });
    refuseUnfit(file, found);
    const { mode, uid, gid, ino, birthtimeNs, mtimeNs } = found;
    const text = await handle.readFile("utf8");
    // not ctime: chmod, and the removal of a link, would change the version during a claim
    const version = hash("sha256", [ino, birthtimeNs, mtimeNs, text].join(" ")).slice(0, 32);
    return { text, version, mode: Number(mode) & 0o777, uid: Number(uid), gid: Number(gid) };
  } finally {
    await handle.close();
  }
}

/** Refuses a pipe, a device, or a file that is too long. The system itself refuses a folder, when it is read. */
function refuseUnfit(file: string, found: BigIntStats): void {
  if (!found.isFile() && !found.isDirectory()) {
    throw new WebhookError(
      "missing_secret",
      `The key file ${file} is not a regular file.`,
      "A pipe or a device cannot keep keys. Name a regular file, or a link to one.",
    );
  }
  if (found.size > mostBytes) {
    throw new WebhookError(
      "invalid_secret",
      `The key file ${file} has more than 1 MiB.`,
      "Name the file that has the keys.",
    );
  }
}

interface Draft {
  readonly folder: string;
  readonly id: string;
}

async function makeDraft(file: string, text: string, current?: FileVersion): Promise<Draft> {
  const id = randomUUID();
  const folder = `${file}.draft-${id}`;
  await mkdir(folder, { mode: 0o700 });
  try {
    await writeDurably(join(folder, id), text);
    if (current !== undefined) await takeOver(join(folder, id), current);
    await syncFolder(folder);
    return { folder, id };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

/** Gives a draft the owner and the mode of the file. Fails if it cannot: with another owner, the file's readers could not read it. */
async function takeOver(draft: string, { mode, uid, gid }: FileVersion): Promise<void> {
  const own = await stat(draft);
  if (own.uid !== uid || own.gid !== gid) await chown(draft, uid, gid);
  await chmod(draft, mode);
}

/** Removes the drafts and claims of killed writers. Their age is by the clock of the file system, which may be another machine's. */
async function removeRemains(file: string): Promise<void> {
  const folder = dirname(file);
  const writtenAt = await stat(file).then(({ mtimeMs }) => mtimeMs, unlessMissing); // just now
  if (writtenAt === undefined) return;
  const prefix = `${basename(file)}.`;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || !remainsPattern.test(name.slice(prefix.length))) continue;
    const changedAt = await stat(join(folder, name)).then(({ mtimeMs }) => mtimeMs, unlessMissing);
    if (changedAt !== undefined && writtenAt - changedAt > abandonedMs) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
}

async function removeEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: unknown) => {
    if (!["ENOENT", "ENOTEMPTY", "EEXIST"].includes(errnoOf(error))) throw error;
  });
}

function claimOf(file: string, version: string): string {
  return `${file}.next-${version}`;
}
