import { createKeyring, type KeyRecord, type StoredKey } from "@esim-webhooks/core";
import { dateTimeMs } from "@esim-webhooks/core/kit";
import type { SecretForm } from "../base/secret-form.ts";

const forms: readonly SecretForm[] = ["hex", "base64", "utf8"];

/** The endpoint whose keys are replaced. */
export interface KeyOwner {
  readonly endpoint: string;
  /** Whether the client has no other endpoint, so that keys without an owner are this endpoint's. */
  readonly isOnly: boolean;
}

/** The fingerprint of a secret, in any form that a receiver takes. Throws `invalid_secret`. */
export function fingerprintOf(key: string | StoredKey): string {
  return createKeyring([secretOf(key)]).keysAt(0)[0]?.fingerprint ?? "";
}

/** The keys that a rotation of the endpoint ends. Those of other endpoints, or of nobody knows which, stay. */
export function endedKeys({ keys }: KeyRecord, { endpoint, isOnly }: KeyOwner): (string | StoredKey)[] {
  return keys.filter((key) => {
    const owner = typeof key === "string" ? undefined : key.endpoint;
    return owner === undefined ? isOnly : owner === endpoint;
  });
}

/** The keys with a new one at the end, before which the ones that it replaces end at `endMs`, or when they would have ended earlier. */
export function withNewKey(
  record: KeyRecord,
  owner: KeyOwner,
  secret: string,
  endMs: number,
): (string | StoredKey)[] {
  const ended = endedKeys(record, owner);
  const newKey = fingerprintOf(secret);
  const others = record.keys.filter((key) => fingerprintOf(key) !== newKey);
  const kept = others.flatMap((key) => (ended.includes(key) ? ending(key, endMs) : [key]));
  return [...kept, { secret, endpoint: owner.endpoint }];
}

/** The keys without those that have ended. */
export function withoutEnded(keys: KeyRecord["keys"], nowMs: number): (string | StoredKey)[] {
  return keys.filter((key) => typeof key === "string" || !(dateTimeMs(key.notAfter) <= nowMs));
}

/** In which form the newest key is written, if it is not the usual one. */
export function formOfNewest({ keys }: KeyRecord): SecretForm | undefined {
  const newest = keys.at(-1);
  return newest === undefined ? undefined : forms.find((form) => secretOf(newest).startsWith(`${form}:`));
}

/** The key with its end, or none if it would begin after it. */
function ending(key: string | StoredKey, endMs: number): StoredKey[] {
  const stored = typeof key === "string" ? { secret: key } : key;
  if (dateTimeMs(stored.notAfter) <= endMs) return [stored];
  if (dateTimeMs(stored.notBefore) >= endMs) return [];
  return [{ ...stored, notAfter: new Date(endMs).toISOString() }];
}

function secretOf(key: string | StoredKey): string {
  return typeof key === "string" ? key : key.secret;
}
