import { resolve } from "node:path";
import type { KeyStore } from "@esim-webhooks/core";
import { type FileKeySource, fileKeySource } from "@esim-webhooks/core/key-file";
import type { CliProcess } from "../program/context.ts";
import { invalidUsage } from "../program/program-error.ts";
import { type SetUp, secretVariableOf } from "./set-up.ts";

/** Where a command keeps the signing keys of an endpoint. */
export interface KeyPlace {
  readonly keyStore: KeyStore;
  /** Names the key store in messages. */
  readonly where: string;
  /** The absolute path of the key file, if it is one. */
  readonly file?: string;
}

/** A key file: its absolute path, and the path as it was written. */
export interface NamedFile {
  readonly file: string;
  readonly where: string;
}

/** The file of a --key-file. */
export function namedFile({ cwd }: CliProcess, where: string | undefined): NamedFile | undefined {
  return where === undefined ? undefined : { file: resolve(cwd(), where), where };
}

/** The file of --key-file, else the secret of the config, if it is a key store. Throws `invalid_usage`. */
export function keyPlaceOf(setUp: SetUp, keyFile: NamedFile | undefined): KeyPlace {
  const { secret, secretFrom, file } = setUp;
  if (keyFile !== undefined) return { keyStore: fileKeySource(keyFile.file), ...keyFile };
  if (isKeyStore(secret)) {
    const { keyFile: configured } = secret as Partial<FileKeySource>;
    if (configured !== undefined) return { keyStore: secret, where: configured, file: configured };
    return { keyStore: secret, where: `the key store in ${file}` };
  }
  const unset = secretFrom === secretVariableOf(setUp) ? ` and unset ${secretFrom}` : "";
  throw invalidUsage(
    "The signing secret needs a place that the command can change, and that the receivers read.",
    `Add --key-file esim.key, the file that the receivers read (endpoint ensure creates it), or give the config a key store as its secret: fileKeySource, stateKeySource, or on AWS secretsManagerKeys or ssmKeys${unset}.`,
  );
}

/** Whether the keys can be changed where this secret comes from. */
export function isKeyStore(secret: SetUp["secret"]): secret is KeyStore {
  const { read, write } = (secret ?? {}) as Partial<KeyStore>;
  return typeof read === "function" && typeof write === "function";
}
