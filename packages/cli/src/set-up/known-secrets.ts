import { createKeyring, type Key, type LoadedKeys, type Secret, type Secrets } from "@esim-webhooks/core";

/** The secrets that a set-up has now; a key source is asked once. Undefined where there is none. */
export async function knownSecrets(secret: Secret | undefined): Promise<Secrets | undefined> {
  if (typeof secret !== "object" || !("load" in secret)) return secret;
  const loaded = await secret.load();
  return isList(loaded) ? loaded : loaded.keys;
}

/** The one to sign with: the first one that counts now. Throws `missing_secret` or `invalid_secret`. */
export function signingSecret(secrets: Secrets | undefined): string {
  createKeyring(secrets);
  const list = typeof secrets === "string" ? secrets.trim().split(/\s+/) : (secrets ?? []);
  const counts = list.find((one) => createKeyring([one]).keysAt(Date.now()).length > 0) ?? list[0];
  return typeof counts === "object" ? counts.secret : (counts ?? "");
}

function isList(loaded: readonly (string | Key)[] | LoadedKeys): loaded is readonly (string | Key)[] {
  return Array.isArray(loaded);
}
