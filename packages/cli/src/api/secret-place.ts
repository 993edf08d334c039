import { rm } from "node:fs/promises";
import type { EndpointWithSecret } from "@esim-webhooks/client";
import type { KeyRecord } from "@esim-webhooks/core";
import { fileKeySource } from "@esim-webhooks/core/key-file";
import { errorCodeOf } from "../program/exit-code.ts";
import { ProgramError } from "../program/program-error.ts";

/** A key file that can take one more secret, before there is one. */
export interface SecretPlace {
  /** The path as the user wrote it. */
  readonly file: string;
  /** Adds the endpoint's secret, and returns when it is on the disk. */
  keep(made: EndpointWithSecret): Promise<void>;
  /** Removes the file if it was created for this secret. */
  abandon(): Promise<void>;
}

/** Creates a key file, for this user alone. Throws `invalid_usage` if it is there, or cannot be written. */
export async function newKeyFile(file: string): Promise<SecretPlace> {
  if (!(await writable(file, { keys: [] }, undefined))) {
    throw new ProgramError(
      "invalid_usage",
      `${file} already exists, and no key file is overwritten.`,
      "Name a new file with --key-file.",
    );
  }
  return { file, keep: (made) => addSecret(file, made), abandon: () => rm(file, { force: true }) };
}

/**
 * Takes a key file for one more secret; creates it if there is none. Its owner and its mode stay as they are.
 * Throws `invalid_usage` if it cannot be written, and `invalid_secret` if it is no key file.
 */
export async function existingKeyFile(file: string): Promise<SecretPlace> {
  for (;;) {
    const stored = await fileKeySource(file).read();
    if (stored === undefined) return newKeyFile(file);
    // the same keys once more: this shows that the file can be written
    if (await writable(file, stored.record, stored.version)) {
      return { file, keep: (made) => addSecret(file, made), abandon: async () => {} };
    }
  }
}

async function writable(file: string, record: KeyRecord, version: string | undefined): Promise<boolean> {
  try {
    return await fileKeySource(file).write(record, version);
  } catch (cause) {
    if (errorCodeOf(cause) === "store_full") throw cause;
    throw new ProgramError(
      "invalid_usage",
      `${file} cannot be written, so nothing was registered.`,
      "Name another file with --key-file, or correct the permissions.",
      { cause },
    );
  }
}

async function addSecret(
  file: string,
  { signingSecret: secret, webhookEndpointReference: endpoint }: EndpointWithSecret,
): Promise<void> {
  const keyFile = fileKeySource(file);
  for (;;) {
    const stored = await keyFile.read();
    const { keys, ...rest } = stored?.record ?? { keys: [] };
    const record = { ...rest, keys: [...keys, { secret, endpoint }] };
    if (await keyFile.write(record, stored?.version)) return;
  }
}
