import { type FileHandle, open, realpath, rename, rm, stat } from "node:fs/promises";
import { createKeyring, type LoadedKeys } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { ProgramError } from "../program/program-error.ts";

/** A file that is open for a signing secret, before there is one. */
export interface SecretPlace {
  /** The path as the user wrote it. */
  readonly file: string;
  /** Writes the secret, and returns when it is on the disk. */
  keep(secret: string): Promise<void>;
  /** Leaves everything as it was. */
  abandon(): Promise<void>;
}

/** Creates a file, for this user alone. Throws `invalid_usage` if it is there, or cannot be written. */
export async function newKeyFile(file: string): Promise<SecretPlace> {
  const handle = await openNew(file, file);
  return {
    file,
    keep: (secret) => writeDurably(handle, `${secret}\n`),
    abandon: () => closeAndRemove(handle, file),
  };
}

/**
 * Prepares a key file for one more secret; creates it if there is none. Its owner and its mode stay as they are.
 * Throws `invalid_usage` if it cannot be written, and `invalid_secret` if it is no key file.
 */
export async function existingKeyFile(file: string): Promise<SecretPlace> {
  const path = await realpath(file).catch(() => undefined);
  if (path === undefined) return newKeyFile(file);
  await fileKeySource(file).load();
  const { mode, uid, gid } = await stat(path);
  const draft = `${path}.new`;
  const handle = await openNew(draft, file);
  const abandon = () => closeAndRemove(handle, draft);
  try {
    await handle.chown(uid, gid);
    await handle.chmod(mode & 0o777);
  } catch (cause) {
    await abandon();
    throw unwritable(file, cause);
  }
  return {
    file,
    async keep(secret) {
      createKeyring([secret]); // a key that cannot be read would make the others unreadable
      const { keys, ...rest } = (await fileKeySource(path).load()) as LoadedKeys;
      const list = typeof keys === "string" ? keys.split(/\s+/) : (keys as readonly unknown[]);
      await writeDurably(handle, `${JSON.stringify({ ...rest, keys: [...list, secret] }, null, 2)}\n`);
      await rename(draft, path); // receivers read the old file or the new one, and never half of it
    },
    abandon,
  };
}

async function openNew(path: string, file: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "EEXIST") throw unwritable(file, cause);
    throw new ProgramError(
      "invalid_usage",
      `${path} is there already, and no key file is overwritten.`,
      path === file
        ? "Name a new file with --key-file."
        : "Another command is writing it, or has left it: remove it then.",
    );
  }
}

function unwritable(file: string, cause: unknown): ProgramError {
  return new ProgramError(
    "invalid_usage",
    `${file} cannot be written, so nothing was registered.`,
    "Name another file with --key-file, or correct the permissions.",
    { cause },
  );
}

async function writeDurably(handle: FileHandle, text: string): Promise<void> {
  await handle.writeFile(text);
  await handle.sync();
  await handle.close();
}

async function closeAndRemove(handle: FileHandle, path: string): Promise<void> {
  await handle.close().catch(() => {}); // it may be closed
  await rm(path, { force: true });
}
