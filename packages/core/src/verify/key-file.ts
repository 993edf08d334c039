import { randomUUID } from "node:crypto";
import * as z from "zod/mini";
import { errnoOf } from "../base/durable-file.ts";
import { WebhookError } from "../base/errors.ts";
import { type Logger, silentLogger } from "../base/logger.ts";
import { loggerOption, parseOptions } from "../base/options.ts";
import { warnOfSetup } from "../base/safe-logger.ts";
import { keyRecordsIn } from "./key-record.ts";
import type { KeyStore } from "./key-store.ts";
import {
  createFile,
  type FileVersion,
  fileItself,
  readSettled,
  readVersion,
  replaceFile,
} from "./swap-file.ts";

const shape = { logger: z._default(loggerOption, () => silentLogger) };

/** A key store that is a file. */
export interface FileKeySource extends KeyStore {
  /** The path of the file. */
  readonly keyFile: string;
}

/**
 * Keeps keys in a file: JSON of the form `{ "keys": ["whsec_…", { "secret", "notBefore", "notAfter" }], "rotatingUntil" }`. Secrets
 * separated by spaces are read, too, and become JSON when they are changed. `load` warns if other users have access to the file.
 *
 * `write` puts a whole new file in the place of the old one, with its owner and mode; a file that it creates has the mode 0600. It
 * rejects with `store_unavailable` when it cannot, or `store_full` for a full disk. Another program that changes the file must rename a
 * new one over it, and only while no process writes here. For a container, mount the folder of the file, never the file: a mounted file
 * cannot be replaced from inside, and does not change when it is replaced outside. Not for Windows or network file systems, whose
 * renames guarantee less.
 *
 * Throws `invalid_option` without a path, and for a wrong option. `load` rejects with `missing_secret` if there is no file. Both `load` and
 * `read` reject with `store_unavailable` if the file cannot be read, with `missing_secret` for a pipe or a device, and with `invalid_secret` for
 * another content or more than 1 MiB.
 * @param path of the file
 * @param options where warnings go
 */
export function fileKeySource(
  path: string,
  options: {
    /** Gets an error line when other users have access to the file. Default: a warning of the process. */
    readonly logger?: Logger;
  } = {},
): FileKeySource {
  if (typeof path !== "string" || path === "") {
    throw new WebhookError(
      "invalid_option",
      "there is no path.",
      "Pass the path of the key file. If it comes from an environment variable, set that.",
      { where: "fileKeySource" },
    );
  }
  const { logger } = parseOptions("fileKeySource", shape, options);
  const records = keyRecordsIn(`The key file ${path}`);
  return {
    keyFile: path,
    async load() {
      const file = await readable(path);
      if (process.platform !== "win32" && (file.mode & 0o077) !== 0) {
        warnOfSetup(
          logger,
          "key_file_mode",
          `Other users can read the key file ${path}. Run chmod 600 on it.`,
        );
      }
      return records.loaded(records.read(file.text, unique).record);
    },
    async read() {
      const found = await onDisk(path, async () => readSettled(await fileItself(path)));
      if (found === undefined) return undefined;
      return { record: records.read(found.text, unique).record, version: found.version };
    },
    async write(record, version) {
      records.of(record);
      const text = `${JSON.stringify({ ...record, [unique]: randomUUID() }, null, 2)}\n`;
      return onDisk(path, async () => {
        const file = await fileItself(path);
        return version === undefined ? createFile(file, text) : replaceFile(file, version, text);
      });
    },
  };
}

/** The field that makes the text of each record unique. */
const unique = "version";

/** Reads the file for a receiver. Its errors name the file and the remedy. */
async function readable(path: string): Promise<FileVersion> {
  const missing = () =>
    new WebhookError(
      "missing_secret",
      `The key file ${path} does not exist.`,
      "Correct the path; or write the endpoint's signingSecret into it, with the mode 0600. esim-webhooks endpoint ensure <url> writes that of a new endpoint.",
    );
  const file = await readVersion(path).catch((cause: unknown) => {
    if (WebhookError.is(cause)) throw cause;
    const code = errnoOf(cause);
    if (code === "ENOTDIR") throw missing();
    if (code === "EISDIR")
      throw new WebhookError("missing_secret", `The key file ${path} is a folder.`, "Name a file in it.");
    throw new WebhookError(
      "store_unavailable",
      `The key file ${path} cannot be read (${code}).`,
      "Correct the path, or let this user read it.",
      { cause },
    );
  });
  if (file === undefined) throw missing();
  return file;
}

async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (WebhookError.is(cause)) throw cause;
    if (["ENOSPC", "EDQUOT"].includes(errnoOf(cause)))
      throw new WebhookError(
        "store_full",
        `There is no room left for the key file ${path}.`,
        "Free space on its disk, or raise the quota.",
        { cause },
      );
    throw new WebhookError(
      "store_unavailable",
      `The key file ${path} cannot be read or replaced.`,
      remedies[errnoOf(cause)] ??
        "See the error's cause: this user must own the file, and be able to write to its folder.",
      { cause },
    );
  }
}

/** The remedy of a system error, by its code. */
const remedies: Readonly<Record<string, string>> = {
  EBUSY:
    "EBUSY: the file is a mount of its own, as in a container. Mount its folder instead: a mounted file cannot be replaced.",
  EISDIR: "It is a folder. Name a file in it.",
  ENOENT: "Its folder does not exist. Create it, or correct the path.",
  ENOTDIR: "Its folder does not exist. Create it, or correct the path.",
  EROFS: "It is on a read-only file system. Mount its folder so that it can be written.",
};
