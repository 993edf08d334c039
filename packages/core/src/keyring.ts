import { createHash, createHmac, createSecretKey } from "node:crypto";
import { inspect } from "node:util";
import { WebhookError } from "./errors.ts";
import { decodeSecret } from "./secret.ts";

/** The signing secret of the endpoint, or several while rotating: blank-separated, or a list. */
export type Secret = string | readonly string[];

/** One secret, ready for use. Prints as its fingerprint in every form; the secret cannot be read back. */
export interface SigningKey {
  /** `key:` and the first 8 hex digits of SHA-256 over the key bytes. Safe to log. */
  readonly fingerprint: string;
  /** The base64 HMAC-SHA256 of `prefix` followed by `body`. */
  mac(prefix: string, body: Uint8Array): string;
}

/** The signing keys that count now. */
export interface Keyring {
  keys(): readonly SigningKey[];
}

/** The environment variable that holds the secret when none is given. */
export const secretVariable = "ESIM_WEBHOOK_SECRET";

/**
 * Prepares the keys of `secret`, which defaults to the environment variable `ESIM_WEBHOOK_SECRET`.
 * Throws `missing_secret` when there is none and `invalid_secret` when one cannot be right.
 */
export function createKeyring(secret: Secret | undefined = process.env[secretVariable]): Keyring {
  const secrets = typeof secret === "string" ? secret.split(/\s+/).filter((part) => part !== "") : secret;
  if (secrets === undefined || secrets.length === 0) {
    throw new WebhookError(
      "missing_secret",
      "There is no signing secret, so no delivery could be verified.",
      `Set ${secretVariable} to the endpoint's signingSecret (whsec_…), or pass { secret }.`,
    );
  }
  const byFingerprint = new Map(secrets.map(createSigningKey).map((key) => [key.fingerprint, key]));
  const keys = [...byFingerprint.values()];
  return { keys: () => keys };
}

export function createSigningKey(secret: string): SigningKey {
  const bytes = decodeSecret(secret);
  const key = createSecretKey(bytes);
  const fingerprint = `key:${createHash("sha256").update(bytes).digest("hex").slice(0, 8)}`;
  const print = () => fingerprint;
  return Object.freeze({
    fingerprint,
    mac: (prefix: string, body: Uint8Array) =>
      createHmac("sha256", key).update(prefix).update(body).digest("base64"),
    toString: print,
    toJSON: print,
    [inspect.custom]: print,
  });
}
