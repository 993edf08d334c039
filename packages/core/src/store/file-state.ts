import { hash, randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { errnoOf, syncFolder, syncFoldersAbove, unlessMissing, writeDurably } from "../base/durable-file.ts";
import { WebhookError } from "../base/errors.ts";
import { makeFolder } from "../base/make-folder.ts";
import { checkStateName, encodeState, type StateStore, type StoredState } from "./state-store.ts";

const versionPattern = /^([1-9]\d{0,14})-([0-9a-f-]{36})$/;
const draftPattern = /^\.[0-9a-f-]{36}$/;

/** The age at which a draft is removed: its writer must have been killed. */
const draftMs = 60 * 60_000;

/** How often a reader starts at most, if writers replace each version before its value is read. */
const maxReads = 1000;

/**
 * Small state in a folder on a local disk, shared by the processes of one machine. Creates the folder if it is missing,
 * readable only by this user. `write` resolves once the value is on the disk; a crash leaves the old value or the new one.
 * Not for Windows or network file systems, whose renames guarantee less.
 *
 * Throws `invalid_option`. Operations reject with `invalid_option` when every user can write to the folder, with
 * `store_unavailable`, and with `invalid_input` as `StateStore` says.
 */
export function fileState(folder: string): StateStore {
  // The value is in <folder>/<folder of the name>/<number>-<id>/<id>. The folder <number>-<id> is the version. A writer puts the
  // new value into that folder and renames it to the next version; only one writer's rename finds the folder.
  if (typeof folder !== "string" || folder === "") {
    throw new WebhookError(
      "invalid_option",
      "fileState needs a folder.",
      'Pass a path: fileState("/var/lib/my-app/webhooks").',
    );
  }
  const root = resolve(folder);
  const durablePlaces = new Set<string>(); // the folders of names that this process has synced in `root`
  let isRootDurable = false;
  let closed = false;

  /** Makes the folder. Syncs those above it, at first also if another process has made it: that may have been killed before its sync. */
  async function makeRoot(): Promise<void> {
    const made = await makeFolder(root);
    if (made === undefined && isRootDurable) return;
    await syncFoldersAbove(root);
    isRootDurable = true;
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (closed) {
      throw new WebhookError(
        "store_unavailable",
        "The fileState was closed.",
        "Close it after its last user.",
      );
    }
    try {
      await makeRoot();
      await refuseOpenFolder(root);
      return await work();
    } catch (error) {
      if (WebhookError.is(error)) throw error;
      throw new WebhookError(
        "store_unavailable",
        `fileState cannot read or write in ${root}.`,
        "See the error's cause: the disk may be full, or the folder may belong to another user.",
        { cause: error },
      );
    }
  }

  return {
    capabilities: { durable: true, multiProcess: true },
    ready: () => run(() => removeOldDrafts(root)),
    read: (name) => run(() => readNewest(folderOf(root, name))),
    write: (name, value, version) =>
      run(async () => {
        const place = folderOf(root, name);
        const text = encodeState(value);
        const isNew = version === undefined;
        const isWritten = isNew ? await create(root, place, text) : await replace(place, version, text);
        if (isWritten && (isNew || !durablePlaces.has(place))) {
          await syncFolder(root);
          durablePlaces.add(place);
        }
        return isWritten;
      }),
    async close() {
      closed = true;
    },
  };
}

/** The folder of a name: readable, and unique on a file system that ignores case. */
function folderOf(root: string, name: string): string {
  checkStateName(name);
  const readable = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return join(root, `${readable.slice(0, 40)}.${hash("sha256", name).slice(0, 32)}`);
}

async function readNewest(place: string): Promise<StoredState | undefined> {
  for (let reads = 0; reads < maxReads; reads++) {
    const names = await readdir(place).catch(unlessMissing);
    if (names === undefined) return undefined;
    const version = newestOf(names);
    if (version === undefined) continue;
    const text = await readFile(join(place, version, idOf(version)), "utf8").catch(unlessMissing);
    if (text !== undefined) return { value: JSON.parse(text), version };
  }
  throw new Error(`${place} has no version with a value: another program has changed it.`);
}

/** Creates the folder of a name with its first version, by renaming a draft. Resolves to false if the folder has a version. */
async function create(root: string, place: string, text: string): Promise<boolean> {
  const id = randomUUID();
  const draft = join(root, `.${id}`);
  const version = join(draft, `1-${id}`);
  try {
    await mkdir(version, { recursive: true, mode: 0o700 });
    await writeDurably(join(version, id), text);
    await syncFolder(version);
    await syncFolder(draft);
    await rename(draft, place);
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (["ENOTEMPTY", "EEXIST"].includes(errnoOf(error))) return false;
    throw error;
  }
}

/** Removes the drafts of first values whose writers were killed before the rename: those older than an hour. */
async function removeOldDrafts(root: string): Promise<void> {
  const drafts = (await readdir(root))
    .filter((name) => draftPattern.test(name))
    .map((name) => join(root, name));
  for (const draft of drafts) {
    const changedAt = await stat(draft).then(({ mtimeMs }) => mtimeMs, unlessMissing);
    if (changedAt !== undefined && Date.now() - changedAt > draftMs) {
      await rm(draft, { recursive: true, force: true });
    }
  }
}

async function replace(place: string, version: string, text: string): Promise<boolean> {
  if (!versionPattern.test(version)) return false;
  const id = randomUUID();
  const next = join(place, `${numberOf(version) + 1}-${id}`);
  const replaced = await rewrite(join(place, version), next, id, text).catch(unlessMissing);
  if (replaced === undefined) return false;
  await syncFolder(place);
  await Promise.all(replaced.map((name) => rm(join(next, name), { force: true })));
  return true;
}

/** Writes the next version. Resolves to the files of the version before: its value, and the new values of writers that are now too late. */
async function rewrite(from: string, to: string, id: string, text: string): Promise<string[]> {
  const replaced = await readdir(from);
  await writeDurably(join(from, id), text);
  await syncFolder(from);
  await rename(from, to);
  return replaced;
}

async function refuseOpenFolder(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o002) === 0 || process.platform === "win32") return;
  throw new WebhookError(
    "invalid_option",
    `Every user of this machine can write to the folder ${folder}, and so could replace the state in it.`,
    "Run chmod 700 on it, or name a folder in it, which is then made for this user only.",
  );
}

function newestOf(names: readonly string[]): string | undefined {
  const versions = names.filter((name) => versionPattern.test(name));
  return versions.sort((a, b) => numberOf(b) - numberOf(a))[0];
}

function numberOf(version: string): number {
  return Number.parseInt(version, 10);
}

function idOf(version: string): string {
  return version.slice(version.indexOf("-") + 1);
}
