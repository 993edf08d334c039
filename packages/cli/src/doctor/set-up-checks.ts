import { existsSync } from "node:fs";
import { mkdtemp, rmdir, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Catalog, createKeyring, createProcessor, createWorker, esimCatalog } from "@esim-webhooks/core";
import { memoryInbox } from "@esim-webhooks/core/testing";
import { naming } from "../program/naming.ts";
import { checkReceiver } from "../serve/receiver-of.ts";
import { isKeyStore } from "../set-up/key-place.ts";
import { hiddenSecretNote, knownSecrets, requiredSecret } from "../set-up/known-secrets.ts";
import { type Folder, openModeOf } from "../set-up/place.ts";
import type { SetUp } from "../set-up/set-up.ts";
import { bytes } from "../terminal/quantities.ts";
import { type Check, failed, passed, warned } from "./check.ts";

const oldestNode: readonly [number, number] = [22, 18];

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.replace("v", "").split(".").map(Number);
  const [wantedMajor, wantedMinor] = oldestNode;
  const isNew = major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
  return isNew
    ? passed("node", version)
    : failed("node", `${version} is too old. Install Node.js 22.18 or newer.`);
}

export function checkConfig({ file }: SetUp): Check {
  return passed("config", file ?? "none: using the environment and defaults");
}

/** Shows the keys that are valid now by their fingerprints. Fails without one; warns if the variable hides those of the config. */
export async function checkSecret(setUp: SetUp): Promise<Check> {
  if (setUp.config.endpoints !== undefined)
    return passed("secret", "each endpoint has its own, which endpoints() finds");
  const keys = await currentKeys(setUp);
  if (keys.length === 0)
    return failed("secret", "No key is valid now. Correct notBefore and notAfter of the keys.");
  const hidden = hiddenSecretNote(setUp);
  return hidden === undefined
    ? passed("secret", keys.join(", "))
    : warned("secret", `${keys.join(", ")}. ${hidden}`);
}

/** The fingerprints of the keys that are valid now. Rejects with `missing_secret` or `invalid_secret`, and as `knownSecrets` does. */
export async function currentKeys(setUp: SetUp): Promise<readonly string[]> {
  const secrets = await knownSecrets(requiredSecret(setUp));
  return createKeyring(secrets)
    .keysAt(Date.now())
    .map((key) => key.fingerprint);
}

/** Checks the options of the receiver in the way that `serve` does. */
export function checkReceiverOptions(setUp: SetUp): Check {
  checkReceiver(setUp);
  return passed("receiver", Object.keys(setUp.config.receiver ?? {}).join(", ") || "defaults");
}

/** Checks the options of the worker in the way that `work` does. */
export function checkWorker({ config, handlers = { "*": () => {} }, file, catalog }: SetUp): Check {
  const { worker = {} } = config;
  const options = { ...worker, ...(catalog && { catalog }) };
  const { target } = config;
  naming(file, () =>
    target?.createWorker
      ? target.createWorker(handlers, options)
      : createWorker<unknown>(memoryInbox(), handlers, options),
  );
  return passed("worker", Object.keys(worker).join(", ") || "defaults");
}

/** Checks the event types of the handlers in the way that receivers and workers do. */
export function checkHandlers({ handlers, file, catalog = esimCatalog as Catalog<unknown> }: SetUp): Check {
  if (handlers === undefined) return passed("handlers", "none: events are stored, but not processed");
  naming(file, () => createProcessor<unknown>(handlers, { catalog }));
  return passed("handlers", Object.keys(handlers).join(", "));
}

/** Fails while a change of the keys is under way: if its run was killed, it has to be finished. Undefined if no change is found. */
export async function checkChange({ secret }: SetUp): Promise<Check | undefined> {
  if (!isKeyStore(secret)) return undefined;
  const stored = await secret.read().catch(() => undefined); // the check of the secret says why
  const change = stored?.record.change;
  if (change === undefined) return undefined;
  const { changeText } = await import("../endpoint/change-text.ts"); // loads the API's client
  const { problem, remedy } = changeText(change);
  return failed("change", `${problem} ${remedy}`);
}

/** With less room than this, the disk of a busy inbox may be full within the hour. */
const leastFreeBytes = 100 * 1024 * 1024;

/** Checks the folder of embedded data, or where it will be, as `checkRoom` does. Says when other users can use it. */
export async function checkDataFolder(folder: Folder, leastFree?: number): Promise<Check> {
  const { dataDir, path } = folder;
  // not a failure: a volume of a container may have to have such a mode
  const openMode = existsSync(path) ? await openModeOf(folder) : undefined;
  return checkRoom(path, dataDir, "name another folder with --data-dir", leastFree, openMode);
}

/** Checks the folder of the config's own SQLite file, as `checkRoom` does. */
export function checkFileFolder(file: string, leastFree?: number): Promise<Check> {
  const folder = dirname(file);
  return checkRoom(folder, folder, "name a file elsewhere in the config", leastFree);
}

/** Checks that files can be made in a folder, and that its disk has room. `otherwise` says how to use another one; `note` is shown if all is well. */
async function checkRoom(
  path: string,
  shown: string,
  otherwise: string,
  leastFree: number = leastFreeBytes,
  note?: string,
): Promise<Check> {
  const existing = nearestExisting(path);
  const full = (free: number) =>
    failed("folder", `The disk of ${shown} has ${bytes(free)} left. Free space on it, or ${otherwise}.`);
  try {
    await rmdir(await mkdtemp(join(existing, ".esim-webhooks-")));
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (isFull(code)) return full(0);
    return failed(
      "folder",
      `No file can be made in ${shown} (${code}). Give this user the right to write there, or ${otherwise}.`,
    );
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  if (free < leastFree) return full(free);
  return passed("folder", [`${shown}; ${bytes(free)} free`, note].filter(Boolean).join(". "));
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));
}

function isFull(code: string): boolean {
  return code === "ENOSPC" || code === "EDQUOT";
}
