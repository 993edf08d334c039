import { isUint8Array } from "node:util/types";
import { namedEnvironment, variableIn } from "../base/environment.ts";
import { WebhookError } from "../base/errors.ts";
import { createSigningKey, type Key, type SigningKey } from "./signing-key.ts";

/**
 * Signing secrets that are known at start-up: one, several as text separated by spaces, or a list of secrets and keys.
 * A secret is text, `whsec_…` or with its form before it (`hex:…`, `base64:…`, `utf8:…`), or the key's bytes.
 */
export type Secrets = string | Uint8Array | readonly (string | Uint8Array | Key)[];

/** A set of signing keys. */
export interface Keyring {
  /** The keys that are valid at `atMs`, in ms since the Unix epoch. */
  keysAt(atMs: number): readonly SigningKey[];
  /** The keys whose window begins after `atMs`. Their deliveries are authentic, and are not accepted yet. */
  keysAfter(atMs: number): readonly SigningKey[];
  /** The keys whose window has ended by `atMs`. Their deliveries are refused; the refusal names the key. */
  keysBefore?(atMs: number): readonly SigningKey[];
}

/** The name of the environment variable that is read when no secret is given. Throws `invalid_option` as `namedEnvironment` does. */
export function secretVariable(): string {
  return variableIn(namedEnvironment(), "ESIM_WEBHOOK_SECRET");
}

/**
 * Prepares the keys of `secrets`, which defaults to the environment variable `ESIM_WEBHOOK_SECRET`; with `ESIM_ENVIRONMENT=test`, to
 * `ESIM_TEST_WEBHOOK_SECRET`.
 * Throws `missing_secret` when there is none and `invalid_secret` when one cannot be right.
 */
export function createKeyring(secrets?: Secrets): Keyring {
  const keys = secrets === undefined ? defaultKeys() : prepareKeys(secrets);
  return keyringOf(() => keys);
}

function defaultKeys(): readonly SigningKey[] {
  const variable = secretVariable();
  return keysIn(variable, () => prepareKeys(process.env[variable]));
}

/** Runs `prepare`. If a secret cannot be right, the error begins with the place it came from: a variable, a file. */
export function keysIn<Result>(place: string, prepare: () => Result): Result {
  try {
    return prepare();
  } catch (error) {
    if (!WebhookError.is(error) || error.code !== "invalid_secret") throw error;
    throw new WebhookError("invalid_secret", error.problem, error.remedy, { where: place });
  }
}

/** A keyring of keys that may be replaced. */
export function keyringOf(keys: () => readonly SigningKey[]): Keyring {
  return {
    keysAt: (atMs) => keys().filter((key) => key.validAt(atMs)),
    keysAfter: (atMs) => keys().filter((key) => key.beginsAfter(atMs)),
    keysBefore: (atMs) => keys().filter((key) => !key.validAt(atMs) && !key.beginsAfter(atMs)),
  };
}

/** Prepares each key. Throws as `createKeyring` does. */
export function prepareKeys(secrets: Secrets | undefined): readonly SigningKey[] {
  const list = listSecrets(secrets);
  if (list.length > 0) return list.map(createSigningKey);
  throw new WebhookError(
    "missing_secret",
    "There is no signing secret, so no delivery could be verified.",
    `Set ${secretVariable()} to the endpoint's signingSecret (whsec_…), or pass { secret }.`,
  );
}

/** The secrets as a list, unchecked. Throws `invalid_secret` when `secrets` has the wrong type. */
export function listSecrets(secrets: Secrets | undefined): readonly (string | Uint8Array | Key)[] {
  if (secrets === undefined) return [];
  if (isUint8Array(secrets)) return [secrets];
  if (typeof secrets === "string") return secrets.split(/\s+/).filter((part) => part !== "");
  if (Array.isArray(secrets)) return secrets;
  if (typeof secrets === "object" && secrets !== null && "load" in secrets) {
    throw new WebhookError(
      "invalid_secret",
      "A key source was given where keys are expected.",
      "Pass its current keys: (await source.load()).keys.",
    );
  }
  throw new WebhookError(
    "invalid_secret",
    `A secret must be a string, a Uint8Array, a list or a key source; this one is ${secrets === null ? "null" : `of type ${typeof secrets}`}.`,
    "Pass the endpoint's signingSecret, several of them as a list, or an object with load().",
  );
}
