import { isUint8Array } from "node:util/types";
import { createKeyring, type LoadedKeys, type Secret, type Secrets, WebhookError } from "@esim-webhooks/core";
import { createDeadline } from "@esim-webhooks/core/engine";
import { naming } from "../program/naming.ts";
import { type SetUp, secretVariableOf } from "./set-up.ts";

/** How long to wait for a key source, in ms: as long as receivers do. */
const loadTimeoutMs = 5000;

/** The secret as it was given, right or not. `which` names the wanted secret in the error. Throws `missing_secret`. */
export function givenSecret(
  { secret, file, environment }: SetUp,
  which = "the endpoint's signingSecret",
): Secret {
  if (secret !== undefined && !(isList(secret) && secret.length === 0)) return secret;
  throw new WebhookError(
    "missing_secret",
    "There is no signing secret, so no delivery could be signed or verified.",
    `Set ${secretVariableOf({ environment })} to ${which} (whsec_…), or give ${file ?? "a config file"} a secret, such as secret: fileKeySource("esim.key").`,
  );
}

/** The remark if the variable's secret hides that of the config; else undefined. */
export function hiddenSecretNote({ secretFrom, file, config }: SetUp): string | undefined {
  return secretFrom === file || config.secret === undefined
    ? undefined
    : `${secretFrom} takes precedence over the secret of the config, so new keys in a key source are not seen. Unset it to use the config's.`;
}

/** The secret, checked unless it is a key source. Throws `missing_secret`, and `invalid_secret` with the variable or the file that holds it. */
export function requiredSecret(setUp: SetUp, which?: string): Secret {
  const secret = givenSecret(setUp, which);
  if (!isSource(secret)) naming(setUp.secretFrom, () => createKeyring(secret));
  return secret;
}

/**
 * The current secrets. A key source is loaded once. Undefined when there is no secret. Rejects as the key source does, with
 * `store_unavailable` if it does not answer within 5 s, and with `missing_secret` if it answers undefined.
 */
export async function knownSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (secret === undefined || !isSource(secret)) return secret;
  const load = async () => ({ loaded: await secret.load() });
  const answer = await createDeadline(loadTimeoutMs).before(load());
  if (answer === undefined) throw noAnswer();
  const { loaded } = answer;
  if (loaded === undefined) throw noKeys();
  return isList(loaded) ? loaded : loaded.keys;
}

/**
 * The secret to sign with: the last that is valid now, else the last. A rotation puts the new key behind the old one, which gets an end.
 * Throws `missing_secret` or `invalid_secret`.
 */
export function signingSecret(secrets: Secrets | undefined, now: number = Date.now()): string | Uint8Array {
  createKeyring(secrets);
  const list =
    typeof secrets === "string"
      ? secrets.trim().split(/\s+/)
      : isUint8Array(secrets)
        ? [secrets]
        : (secrets ?? []);
  const current = list.findLast((one) => createKeyring([one]).keysAt(now).length > 0) ?? list.at(-1);
  if (current === undefined) return "";
  return typeof current === "string" || isUint8Array(current) ? current : current.secret;
}

/**
 * Returns a function that reads the secret to sign with. It reads a key source again at each call, since a rotation replaces the key and the old
 * one ends; while the source cannot be read, its last answer is used. The first read rejects as `knownSecrets` and `signingSecret` do.
 */
export async function currentSigningSecret(secret: Secret): Promise<() => Promise<string | Uint8Array>> {
  let known = await knownSecrets(secret);
  signingSecret(known);
  return async () => {
    try {
      const loaded = await knownSecrets(secret);
      signingSecret(loaded);
      known = loaded;
    } catch {
      // e.g. a file that is being replaced, or a secret manager that is unreachable
    }
    return signingSecret(known);
  };
}

function noAnswer(): WebhookError {
  return new WebhookError(
    "store_unavailable",
    `The key source did not answer: its load() took more than ${loadTimeoutMs / 1000} s.`,
    "Check what it reads the secret from; receivers wait as long for it.",
  );
}

function noKeys(): WebhookError {
  return new WebhookError(
    "missing_secret",
    "The key source has no keys: its load() resolved to undefined.",
    "Let it return its secrets as a list, or an object such as { keys }.",
  );
}

function isSource(secret: Secret): secret is Exclude<Secret, Secrets> {
  return typeof secret === "object" && secret !== null && "load" in secret;
}

function isList(value: Secret | LoadedKeys): value is Extract<Secret, readonly unknown[]> {
  return Array.isArray(value);
}
