import { isUint8Array } from "node:util/types";
import { createKeyring, type LoadedKeys, type Secret, type Secrets, WebhookError } from "@esim-webhooks/core";
import type { FileKeySource } from "@esim-webhooks/core/key-file";
import { ProgramError } from "../program/program-error.ts";
import { naming } from "./naming.ts";
import type { SetUp } from "./set-up.ts";

/** The secret as it was given, right or not. Throws `missing_secret`. */
export function givenSecret({ secret, file }: SetUp): Secret {
  if (secret !== undefined && !(isList(secret) && secret.length === 0)) return secret;
  const inFile = file === undefined ? "" : `, or give ${file} a secret`;
  throw new WebhookError(
    "missing_secret",
    "There is no signing secret, so no delivery could be signed or verified.",
    `Set ESIM_WEBHOOK_SECRET to the endpoint's signingSecret (whsec_…)${inFile}.`,
  );
}

/** The secret, checked. Throws `missing_secret`, and `invalid_secret` with the variable or the file that holds it. */
export function requiredSecret(setUp: SetUp): Secret {
  const secret = givenSecret(setUp);
  if (!isSource(secret)) naming(setUp.secretFrom, () => createKeyring(secret));
  return secret;
}

/**
 * The current secrets. A key source is loaded once. Undefined when there is no secret. Rejects with `missing_secret` or
 * `unreadable_file` for a key file, and as other key sources do.
 */
export async function knownSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (secret === undefined || !isSource(secret)) return secret;
  const loaded = await secret.load().catch((error: unknown) => {
    throw ofKeyFile((secret as Partial<FileKeySource>).keyFile, error);
  });
  return isList(loaded) ? loaded : loaded.keys;
}

/** The secret to sign with: the first that is valid now, else the first. Throws `missing_secret` or `invalid_secret`. */
export function signingSecret(secrets: Secrets | undefined): string | Uint8Array {
  createKeyring(secrets);
  const list =
    typeof secrets === "string"
      ? secrets.trim().split(/\s+/)
      : isUint8Array(secrets)
        ? [secrets]
        : (secrets ?? []);
  const current = list.find((one) => createKeyring([one]).keysAt(Date.now()).length > 0) ?? list[0];
  if (current === undefined) return "";
  return typeof current === "string" || isUint8Array(current) ? current : current.secret;
}

function isSource(secret: Secret): secret is Exclude<Secret, Secrets> {
  return typeof secret === "object" && secret !== null && "load" in secret;
}

function isList(value: Secret | LoadedKeys): value is Extract<Secret, readonly unknown[]> {
  return Array.isArray(value);
}

/** An error of the file system, with the key file that it is about. */
function ofKeyFile(file: string | undefined, error: unknown): unknown {
  const { code, syscall } = error as Partial<NodeJS.ErrnoException>;
  if (file === undefined || syscall === undefined) return error;
  if (code === "ENOENT") {
    return new WebhookError(
      "missing_secret",
      `The key file ${file} does not exist.`,
      "Correct the path; or write the endpoint's signingSecret into it, with the mode 0600. esim-webhooks endpoint ensure <url> writes that of a new endpoint.",
    );
  }
  return new ProgramError(
    "unreadable_file",
    `The key file ${file} cannot be read (${code}).`,
    "Correct the path, or let this user read it.",
  );
}
