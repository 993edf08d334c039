import { hash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { WebhookError } from "../base/errors.ts";
import { checkStateName, encodeState, type StateStore, type StoredState } from "./state-store.ts";

const versionPattern = /^([1-9]\d{0,14})-([0-9a-f-]{36})$/;

/** How often a reader looks again, since what it had found was replaced meanwhile. */
const looks = 1000;

/**
 * Small state in a folder of a local disk, shared by the processes of one machine. The folder is made if it is missing,
 * for this user alone. What was written is on the disk; a crash at any point leaves the old value or the new one.
 * Not for Windows or network file systems, whose renames promise less.
 *
 * Throws `invalid_option`; operations reject with `store_unavailable`, and with `invalid_input` as `StateStore` says.
 */
export function fileState(folder: string): StateStore {
  // <folder>/<name>/<number>-<id>/<id> is the value. Its folder says which version it is, and the next one is made by
  // renaming that folder: only one rename finds it, and the draft of the new value goes along in it.
  if (typeof folder !== "string" || folder === "") {
    throw new WebhookError(
      "invalid_option",
      "fileState was given no folder.",
      'Pass its path: fileState("/var/lib/my-app/webhooks").',
    );
  }
  const root = resolve(folder);
  let closed = false;

  async function run<T>(work: () => Promise<T>): Promise<T> {
    if (closed) {
      throw new WebhookError(
        "store_unavailable",
        "The fileState was closed.",
        "Close it after its last user.",
      );
    }
    try {
      await makeFolder(root);
      return await work();
    } catch (error) {
      if (WebhookError.is(error)) throw error;
      throw new WebhookError(
        "store_unavailable",
        `fileState cannot read or write in ${root}.`,
        "Its cause says why: a disk that is full, or a folder of another user, for example.",
        { cause: error },
      );
    }
  }

  return {
    capabilities: { durable: true, multiProcess: true },
    ready: () => run(async () => {}),
    read: (name) => run(() => readNewest(placeOf(root, name))),
    write: (name, value, version) =>
      run(async () => {
        const place = placeOf(root, name);
        const text = encodeState(value);
        return version === undefined ? create(root, place, text) : replace(place, version, text);
      }),
    async close() {
      closed = true;
    },
  };
}

/** The folder of a name: legible, and unique where the file system takes upper case for lower case. */
function placeOf(root: string, name: string): string {
  checkStateName(name);
  const legible = name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return join(root, `${legible.slice(0, 40)}.${hash("sha256", name).slice(0, 32)}`);
}

async function readNewest(place: string): Promise<StoredState | undefined> {
  for (let look = 0; look < looks; look++) {
    const names = await readdir(place).catch(unlessMissing);
    if (names === undefined) return undefined;
    const version = newestOf(names);
    if (version === undefined) continue;
    const text = await readFile(join(place, version, idOf(version)), "utf8").catch(unlessMissing);
    if (text !== undefined) return { value: JSON.parse(text), version };
  }
  throw new Error(`${place} has no version with a value: something else than fileState has changed it.`);
}

/** The first version and the folder of its name appear together, and only where there is no such folder. */
async function create(root: string, place: string, text: string): Promise<boolean> {
  const id = randomUUID();
  const draft = join(root, `.${id}`);
  const version = join(draft, `1-${id}`);
  try {
    await mkdir(version, { recursive: true, mode: 0o700 });
    await writeDurably(version, id, text);
    await sync(draft);
    await rename(draft, place);
    await sync(root);
    return true;
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    if (["ENOTEMPTY", "EEXIST"].includes(codeOf(error))) return false;
    throw error;
  }
}

async function replace(place: string, version: string, text: string): Promise<boolean> {
  if (!versionPattern.test(version)) return false;
  const id = randomUUID();
  const next = join(place, `${numberOf(version) + 1}-${id}`);
  const replaced = await rewrite(join(place, version), next, id, text).catch(unlessMissing);
  if (replaced === undefined) return false;
  await sync(place);
  await Promise.all(replaced.map((name) => rm(join(next, name), { force: true })));
  return true;
}

/** Resolves to what was in the folder before: the value so far, and drafts of others, which now come too late. */
async function rewrite(from: string, to: string, id: string, text: string): Promise<string[]> {
  const replaced = await readdir(from);
  await writeDurably(from, id, text);
  await rename(from, to);
  return replaced;
}

async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  const file = await open(join(folder, name), "wx", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await sync(folder);
}

/** Makes a folder, and those above it, durably. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await sync(dirname(made));
}

/** What was made or renamed in a folder is on the disk only once the folder is. */
async function sync(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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

function unlessMissing(error: unknown): undefined {
  if (codeOf(error) !== "ENOENT") throw error;
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code);
}
