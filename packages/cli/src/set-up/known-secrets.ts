import { isUint8Array } from "node:util/types";
import { createKeyring, type LoadedKeys, type Secret, type Secrets } from "@esim-webhooks/core";

/** The current secrets. A key source is loaded once. Undefined when there is no secret. */
export async function knownSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (typeof secret !== "object" || !("load" in secret)) return secret;
  const loaded = await secret.load();
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

function isList<T>(loaded: readonly T[] | LoadedKeys): loaded is readonly T[] {
  return Array.isArray(loaded);
}
