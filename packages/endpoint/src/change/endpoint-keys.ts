import { createKeyring, type KeyRecord, type StoredKey } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/internal";
import { type SecretForm, secretForms } from "../base/options.ts";

type Key = string | StoredKey;

/** An endpoint as the owner of keys. */
export interface KeyOwner {
  readonly endpoint: string;
  /** Whether a key that names no endpoint is this endpoint's. */
  readonly ownsUnlabelledKey: boolean;
}

/**
 * The owner of the keys of an endpoint. A key that names no endpoint is this endpoint's if there is one such key that has not ended, and the
 * client has no other endpoint (`isOnly`). Of several such keys, it is not known whose they are.
 */
export function ownerIn({ keys }: KeyRecord, endpoint: string, isOnly: boolean, nowMs: number): KeyOwner {
  const unlabelled = withoutEndedKeys(keys, nowMs).filter(
    (key) => typeof key === "string" || key.endpoint === undefined,
  );
  return { endpoint, ownsUnlabelledKey: isOnly && unlabelled.length === 1 };
}

/** The fingerprint of a key. Throws `invalid_secret` if its secret has no form that receivers take. */
export function fingerprintOf(key: Key): string {
  return createKeyring([secretOf(key)]).keysAt(0)[0]?.fingerprint ?? "";
}

/** The keys of the endpoint, without keys that are, or may be, those of another endpoint. */
export function keysOfEndpoint(keys: readonly Key[], { endpoint, ownsUnlabelledKey }: KeyOwner): Key[] {
  return keys.filter((key) => {
    const owner = typeof key === "string" ? undefined : key.endpoint;
    return owner === undefined ? ownsUnlabelledKey : owner === endpoint;
  });
}

/** All keys, except keys of the endpoint that would not begin before `endMs`. Its other keys end at `endMs`, or at their own end if that is earlier. */
export function endKeys(keys: readonly Key[], owner: KeyOwner, endMs: number): Key[] {
  const own = keysOfEndpoint(keys, owner);
  return keys.flatMap((key) => (own.includes(key) ? ending(key, endMs) : [key]));
}

/** Whether the record has the key with this fingerprint. */
export function hasKey({ keys }: KeyRecord, fingerprint: string): boolean {
  return keys.some((key) => fingerprintOf(key) === fingerprint);
}

/** Whether the endpoint has got a key since `before` was read: another process has stored a secret of the endpoint. */
export function hasGotKey(now: KeyRecord, before: KeyRecord, endpoint: string): boolean {
  const own = keysOfEndpoint(now.keys, { endpoint, ownsUnlabelledKey: false });
  return own.some((key) => !hasKey(before, fingerprintOf(key)));
}

/** The keys, with a new key of the endpoint as the last one. */
export function withKey(keys: readonly Key[], secret: string, endpoint: string): Key[] {
  const newKey = fingerprintOf(secret);
  return [...keys.filter((key) => fingerprintOf(key) !== newKey), { secret, endpoint }];
}

export function withoutEndedKeys(keys: readonly Key[], nowMs: number): Key[] {
  return keys.filter((key) => typeof key === "string" || !(dateTimeMs(key.notAfter) <= nowMs));
}

/**
 * The secret as it is stored: in the form that was given, else in the form of the newest key, unless the secret begins with `whsec_`.
 * Undefined if receivers could not read it.
 */
export function storedSecret(
  signingSecret: string,
  form: SecretForm | undefined,
  { keys }: KeyRecord,
): string | undefined {
  const newest = signingSecret.startsWith("whsec_") ? undefined : keys.at(-1);
  const guessed =
    newest === undefined ? undefined : secretForms.find((each) => secretOf(newest).startsWith(`${each}:`));
  return secretText(signingSecret, form ?? guessed);
}

/** The secret as receivers take it; undefined if they could not read it. */
function secretText(signingSecret: string, form: SecretForm | undefined): string | undefined {
  const text = form === undefined ? signingSecret : `${form}:${signingSecret}`;
  try {
    createKeyring([text]);
    return text;
  } catch {
    return undefined; // the error may describe the secret
  }
}

/** The key, which ends at `endMs` at the latest. None if it would begin only at `endMs` or later. */
function ending(key: Key, endMs: number): StoredKey[] {
  const stored = typeof key === "string" ? { secret: key } : key;
  if (dateTimeMs(stored.notAfter) <= endMs) return [stored];
  if (dateTimeMs(stored.notBefore) >= endMs) return [];
  return [{ ...stored, notAfter: new Date(endMs).toISOString() }];
}

function secretOf(key: Key): string {
  return typeof key === "string" ? key : key.secret;
}
